"""What a row of an algorithm table is made of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Limits:
    """What a plan may use.

    max_blocks: blocks of a launch
    half_bytes: bytes of one parity of one block's inbox.  The halves lie at fixed
                places, whatever the plan: a call of another size may follow at once.
    """

    max_blocks: int
    half_bytes: int


@dataclass(frozen=True)
class Plan:
    """How one call of an algorithm is laid out.

    blocks:      grid size
    piece_elems: elements of one message of one block
    """

    blocks: int
    piece_elems: int


@dataclass(frozen=True)
class Algorithm:
    """One row: its name, what it is in a sentence, when it may run, text and plan.

    needs:  preconditions in words, for people; ``refuse`` is the same for programs
    kernel: the text, a plain function over the primitives of ``block.py``
    plan:   (count, item_bytes, acc_bytes, n_pes, Limits) -> Plan
    signals: n_pes -> signal words of one block
    refuse: (n_pes, dtype_name, op, backend) -> reason why it can't run, or ""
    """

    name: str
    sentence: str
    needs: str
    kernel: Callable[..., Any]
    plan: Callable[[int, int, int, int, Limits], Plan]
    signals: Callable[[int], int]
    refuse: Callable[[int, str, str, str], str]


def anywhere(n_pes: int, dtype: str, op: str, backend: str) -> str:
    """The ``refuse`` of an algorithm that runs at any PE count, dtype, op and backend."""
    return ""


VECTOR_ELEMS = 16  # pieces are cut at multiples of this, so that 1-byte types keep 16-byte vectors


def cut(count: int, shares: int, max_elems: int) -> int:
    """Elements of one of ``shares`` equal shares of ``count``, a multiple of
    ``VECTOR_ELEMS``, at most ``max_elems`` (and at least one vector)."""
    share = -(-count // shares)
    share = -(-share // VECTOR_ELEMS) * VECTOR_ELEMS
    return max(VECTOR_ELEMS, min(share, max_elems // VECTOR_ELEMS * VECTOR_ELEMS))
