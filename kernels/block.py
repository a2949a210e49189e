"""The primitives: the functions of the device that kernels call.

A kernel is a plain Python function.  It may use numbers, ``if``, loops, other plain functions, and the primitives below
and in ``messages.py``, ``elements.py`` and ``packets.py``, which are all names of this module.  A primitive raises if
plain Python calls it; a backend replaces each primitive by its implementation (``pennympi/compile/bind.py``).

Addresses, byte counts and element counts are int64.  An address belongs to *this* PE's memory: a primitive that
writes to a peer takes the local address of the symmetric object and the number of the PE, as in OpenSHMEM.  ``ctx`` is
the handle of this PE; kernels only pass it on.

All threads of a block call a primitive together, except those that a thread may call alone (``BY_ONE_THREAD`` in
``pennympi/compile/threads.py``), such as ``lanes``, ``load``, ``store`` and ``add_shared``.  Four rules keep a kernel
right on both devices:

1. A block waits only for the block of the same index on a peer, so that a CPU PE may run its blocks one after another.
2. Every wait ends in data or in ``PeerTimeout``.  A PE whose wait gave up runs the rest of its kernel, but its puts are
   dropped, and its signals and packets carry POISON, so that a PE that waits for them gives up too.
3. Every line about an array states its shape and unit.
4. No kernel knows its backend.
"""
# mypy: disable-error-code="empty-body"

from collections.abc import Iterable
from typing import Any

from .elements import *  # noqa: F403
from .messages import *  # noqa: F403
from .packets import *  # noqa: F403
from .primitive import *  # noqa: F403
from .primitive import primitives
from .static import Static, static  # noqa: F401


def block() -> int:
    """Index of this block in the grid."""


def blocks() -> int:
    """Number of blocks in the grid."""


def lanes(start: int, stop: int) -> Iterable[int]:
    """The indices from start to stop - 1 that this thread handles: every n-th index, for n threads of the block."""


def single_thread() -> bool:
    """True if the block has one thread (on a CPU), for which another order of loops may be faster.  A constant."""


def is_leader() -> bool:
    """True in exactly one thread of the block."""


def sync() -> None:
    """Barrier of the block's threads; orders their memory accesses."""


def arrive_last(counter: int) -> bool:
    """True in all threads of the last block of the grid that calls this.  The block then sees the writes of all blocks.
    counter: an int32 word, 0 between launches"""


def arrive(counter: int) -> None:
    """Add 1 to the int64 word ``counter`` of this PE after all writes of the block to the memory of this PE."""


def wait_arrivals(counter: int, value: int) -> None:
    """Wait until the word ``counter`` is at least ``value``.  The block then sees the writes of the blocks that arrived.
    They must be running blocks of this launch, whose waits for peers end, so that this wait ends, too."""


def lock(word: int) -> None:
    """Wait until no other block of this PE holds ``word`` (an int64 word of this PE, 0 when free), and hold it."""


def unlock(word: int) -> None:
    """Release ``word``.  The block that holds it next sees all writes of this block.  A block that holds a word must not
    wait for a peer, or blocks of other kernels could wait for ever."""


def load(base: int, index: int) -> Any:
    """Element ``index`` of the kernel's dtype at address ``base``."""


def store(base: int, index: int, value: float) -> None:
    """Write element ``index`` of the kernel's dtype at address ``base``."""


def real(x: float) -> Any:
    """``x`` in the kernel's dtype (Python literals are float64)."""


def product(x: Any, y: Any) -> Any:
    """x * y of two floats of one type, rounded: no compiler fuses the product with a following sum."""


def multiply_add(x: Any, y: Any, z: Any) -> Any:
    """x * y + z of three floats of one type, rounded once."""


def bits(x: float) -> int:
    """The 64 bits of a float64, as an int64."""


def add_shared(base: int, index: int, value: int) -> None:
    """Atomically add an int64 to word ``index`` at address ``base`` in the memory of this PE."""


def block_sum(x: float) -> float:
    """Sum of the threads' float64 ``x`` in a fixed order, in every thread."""


def add_block_sums(base: int, x: Any) -> None:
    """Sum each float64 of the tuple x, a whole number, over the block's threads, and add sum k to word k at ``base``, as
    ``add_shared`` does.  A sum that is NaN is not added; if the first sum is NaN, 1 is added to the word after the last
    sum's word."""


def copy(dst: int, src: int, nbytes: int) -> None:
    """Copy bytes inside this PE's memory, 16 bytes at a time if the addresses are aligned."""


primitives(globals())
