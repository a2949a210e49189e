"""Stubs of the instructions and numbers that ``compile.py`` makes for each kernel.

A pair is 16 bytes of elements as two int64.  Partials are a pair, or two pairs if they are wider than elements.
"""

from ...compile.stubs import instruction, number

CALL = number("CALL", "The number of the running kernel in the record of a timeout: ``compile.call_number``, and TAGGED.")
TAGGED = number("TAGGED", "Whether epochs carry the tag of their call (``compile.bind.is_tagged``).")
ALIGNED = number("ALIGNED", "Whether all arrays start at, and end on, multiples of 16 bytes.")
ITEM_BYTES = number("ITEM_BYTES", "Bytes of an element.")
TOGETHER = number("TOGETHER", "Whether a thread holds the pairs of all PEs at a time (``register_steps.together``).")


# The tiles of the resident engine (``waits.missing_line``) ---------------------------------
@instruction
def missing_line(ctx, content, number, pe, since_ns):
    """The time when a wait for a line of PE ``pe`` began, or -1 if the wait has given up."""


# The element loops (``elements.implementations``) ------------------------------------------------
WIDTH = number("WIDTH", "Elements in 16 bytes.")
DST_BYTES = number("DST_BYTES", "Bytes of an element or partial of dst.")
PART_BYTES = number("PART_BYTES", "Bytes of a partial of part.")
SRC_BYTES = number("SRC_BYTES", "Bytes of an element or partial of src.")


@instruction
def wide(dst, part, src, n_pes):
    """One step of the reduction on WIDTH elements at addresses that are multiples of 16."""


@instruction
def single(dst, part, src, n_pes):
    """One step on an element at addresses that are multiples of its size."""


@instruction
def shifted(dst, part, src, n_pes):
    """One step on an element at any addresses."""


@instruction
def elements(ctx, dst, part, src, count):
    """The element loop of ``to_partials``, which reads only the alignment of ``part``."""


# Reductions in registers (``register_steps.register_steps``) --------------------------------------
@instruction
def begin(pair):
    """The partials of a pair of elements."""


@instruction
def add(partials, pair):
    """The partials with one more PE's pair of elements."""


@instruction
def end(partials, n_pes):
    """The partials as a pair of elements, divided by n_pes for ``avg`` and rounded."""


@instruction
def end_plus(partials, n_pes, pair):
    """``end``, with a pair of elements added before the result is rounded."""


@instruction
def plus_pair(x, y):
    """The sum of two pairs of elements, rounded once."""


@instruction
def fold(pairs, own, me):
    """``begin``, ``add`` and ``end`` of the pairs of all PEs: ``own`` for PE me, ``pairs`` for the other PEs."""


@instruction
def fold_plus(pairs, own, me, pair):
    """``fold``, with a pair of elements added before the result is rounded."""


# The packets of all PEs at a time (``register_steps.together``) ------------------------------------
@instruction
def poll_all(address, stride_bytes, me):
    """The 16 bytes of every other PE, ``stride_bytes`` apart, by independent loads."""


@instruction
def missing(pairs, epoch, me):
    """Number of the first PE except me whose second word is not this epoch, or -1."""


@instruction
def pair_of(pairs, pe):
    """The pair of a PE."""


# The NVSwitch (``multicast.switch_steps``) ----------------------------------------------
@instruction
def add_by_switch(address, n_pes):
    """The sum over all PEs of 16 bytes of elements at a multicast address, divided by n_pes for ``avg``."""
