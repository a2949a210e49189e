"""The table of exchange forms: pairwise swaps, from plainest to fastest."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .put_barrier import exchange_put_barrier
from .put_fence_signal import exchange_put_fence_signal
from .put_signal import exchange_put_signal


@dataclass(frozen=True)
class Form:
    """One row: name, sentence, kernel, and whether all PEs of the team must take part."""

    name: str
    sentence: str
    kernel: Callable[..., Any]
    collective: bool


_FORMS = (
    Form("put_barrier", "put, then a barrier of all PEs", exchange_put_barrier, True),
    Form("put_fence_signal", "put, fence, then a signal to the partner", exchange_put_fence_signal, False),
    Form("put_signal", "one fused put_signal a message, one waiting thread", exchange_put_signal, False),
)
TABLE = {form.name: form for form in _FORMS}
