"""The error message for PEs that come to a meeting after different calls, or for different things."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

_MOST_PES = 16  # that are named together


class Recent(NamedTuple):
    """The calls of a PE since its last meeting.

    digest: equal for equal calls;  number: of the last call, which is the meeting that it has come to
    texts:  that describe the last few calls, in order
    """

    digest: int
    number: int
    texts: tuple[str, ...]


def first_difference(calls: Mapping[int, Recent]) -> str:
    """One sentence on where the PEs are, and one on the first call that differs, as far as it is known.

    calls: of each PE that has come, in order of PE
    """
    where = {pe: f"in {one.texts[-1]} (call {one.number})" for pe, one in calls.items()}
    message = f"the PEs of a team make the same calls in the same order, but now {_together(where)}"
    texts = {pe: dict(zip(range(one.number, 0, -1), reversed(one.texts), strict=False)) for pe, one in calls.items()}
    start, end = max(min(one) for one in texts.values()), max(max(one) for one in texts.values())
    for number in range(start, end + 1):
        made = {pe: one.get(number, "none") for pe, one in texts.items()}
        if len(set(made.values())) > 1:
            if number < min(one.number for one in calls.values()):
                message += f"; call {number} differs: {_together(made)}"
            break
    else:
        message += f"; a call before call {start} differs"
    return message + ". PENNYMPI_DEBUG=1 compares each call before anything is sent"


def _together(text_of: Mapping[int, str]) -> str:
    """Such as "PE 0, PE 2 in gather; PE 1 in finalize"."""
    parts = []
    for text in dict.fromkeys(text_of.values()):
        pes = [f"PE {pe}" for pe, one in text_of.items() if one == text]
        more = f" and {len(pes) - _MOST_PES} more" if len(pes) > _MOST_PES else ""
        parts.append(f"{', '.join(pes[:_MOST_PES])}{more} {text}")
    return "; ".join(parts[:_MOST_PES])
