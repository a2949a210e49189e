"""Steps that each PE does by itself, and that succeed on all PEs or on none."""

from collections.abc import Callable
from typing import TypeVar

from .job import Job

Result = TypeVar("Result")


def on_all(
    job: Job,
    what: str,
    make: Callable[[], Result],
    in_words: Callable[[Result], str] = lambda result: "",
    error_type: type[Exception] = ValueError,
) -> Result:
    """The result of ``make``, after it has succeeded on every PE with the same text ``in_words(result)``.  Collective.

    Raises on every PE, if the ``make`` of any PE raises: its own error on a PE that has one; on the others an error that
    names the PE, ValueError if its error is a ValueError, else ``error_type``.  Raises ValueError if the texts differ.
    """
    error: Exception | None = None
    try:
        result = make()
        text = in_words(result)
    except Exception as caught:
        error, text = caught, f"{type(caught).__name__}: {caught}"
    gathered = job.gather((None if error is None else isinstance(error, ValueError), text), what)
    if error is not None:
        raise error
    for pe, (is_value_error, text_of_pe) in enumerate(gathered):
        if is_value_error is not None:
            raise (ValueError if is_value_error else error_type)(f"{what} failed on PE {pe}: {text_of_pe}")
    for pe, (_, text_of_pe) in enumerate(gathered):
        if text_of_pe != text:
            raise ValueError(f"each PE must ask for the same {what}: this PE asks for {text}, PE {pe} for {text_of_pe}")
    return result
