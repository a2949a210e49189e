"""Steps that each PE takes for itself, and that succeed on all PEs or on none."""

from collections.abc import Callable
from typing import TypeVar

from .job import Job

Made = TypeVar("Made")


def on_all(
    job: Job,
    what: str,
    make: Callable[[], Made],
    in_words: Callable[[Made], str] = lambda made: "",
    otherwise: type[Exception] = ValueError,
) -> Made:
    """What ``make`` returns, once it has succeeded on every PE, and returned the same in words.  Collective.

    Raises on every PE the own error of ``make``; or, naming that of another PE, ValueError if it is one, else
    ``otherwise``; or ValueError, naming what differs.
    """
    error: Exception | None = None
    try:
        made = make()
        text = in_words(made)
    except Exception as caught:
        error, text = caught, f"{type(caught).__name__}: {caught}"
    every = job.gather((None if error is None else isinstance(error, ValueError), text), what)
    if error is not None:
        raise error
    for pe, (is_value_error, theirs) in enumerate(every):
        if is_value_error is not None:
            raise (ValueError if is_value_error else otherwise)(f"{what} failed on PE {pe}: {theirs}")
    for pe, (_, theirs) in enumerate(every):
        if theirs != text:
            raise ValueError(f"each PE must ask for the same {what}: this one asks for {text}, PE {pe} for {theirs}")
    return made
