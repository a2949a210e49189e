"""The primitives: the functions of the device that kernels call.

A kernel is a plain Python function.  It may use numbers, ``if``, loops, other plain functions, and the functions below.
Called from plain Python these raise; a backend that compiles a kernel puts its implementation in place of each
(``pennympi/compile/bind.py``).

All addresses, byte counts and element counts are int64.  An address is one of *this* PE's memory: a primitive that
writes to a peer takes the local address of the symmetric object and the number of the PE, as in OpenSHMEM.  ``ctx`` is
the handle of this PE; kernels only pass it on.

All threads of a block call a primitive together, except ``lanes``, ``single_thread``, ``is_leader``, ``load``, ``store``,
``product``, ``multiply_add``, ``bits`` and ``add_shared``, which each thread calls for itself.  Four rules keep a kernel
right on both devices:

1. A block waits only for the block of the same index on a peer, so that a CPU PE may run its blocks one after another.
2. Every wait ends in data or in ``PeerTimeout``.  A PE whose wait gave up runs the rest of its kernel, but its puts are
   dropped, and its signals and packets carry POISON, so that a PE that waits for them gives up too.
3. Every line about an array states its shape and unit.
4. No kernel knows its backend.
"""
# mypy: disable-error-code="empty-body"

from collections.abc import Callable, Iterable
from typing import Annotated, Any, TypeAlias, TypeVar

from .records import Lines

Elements: TypeAlias = Annotated[int, "Elements"]
"""Annotates a parameter of a kernel, or a field of its record, that takes an array of the kernel's dtype: for ``load``,
``store`` and puts.  In the kernel it is the address of the first element."""
Words: TypeAlias = Annotated[int, "Words"]
"""Annotates a parameter or field that takes an array of int64 or uint64, such as signals: in the kernel an address."""
_Primitive = TypeVar("_Primitive", bound=Callable[..., Any])
POISON = 1 << 62  # a PE that gave up adds this to every signal and epoch that it sends; all others are below it
EPOCH_BITS = 46  # of the number of a round; the signature of the call lies above it, below POISON
SENDS, TAKES, DIFFERS = 1, 2, 3  # reasons of ``refuse_count``: a part is outside x; outside out; a PE sends another count


plain_python: dict[str, Callable[..., Any]] = {}
"""Implementations, by the primitives' names, for kernels that plain Python runs: empty but for simulators in tests/."""


def _primitive(function: _Primitive) -> _Primitive:
    """Mark a stub so that ``bind`` replaces it, and make a direct call an error."""

    def stub(*args: Any) -> Any:
        if function.__name__ in plain_python:
            return plain_python[function.__name__](*args)
        raise NotImplementedError(
            f"{function.__name__}() is a kernel primitive: it runs inside a kernel "
            "compiled by a team (team.kernel, team.allreduce, ...), not in plain Python"
        )

    stub.__name__, stub.__qualname__, stub.__doc__ = function.__name__, function.__name__, function.__doc__
    stub.__wrapped__ = function  # type: ignore[attr-defined]  # whose signature help() shows
    stub.primitive = True  # type: ignore[attr-defined]
    return stub  # type: ignore[return-value]


# The grid -----------------------------------------------------------------------------


@_primitive
def block() -> int:
    """Index of this block in the grid."""


@_primitive
def blocks() -> int:
    """Number of blocks in the grid."""


@_primitive
def lanes(start: int, stop: int) -> Iterable[int]:
    """The indices in start..stop that this thread handles: every n-th one, for n threads of the block."""


@_primitive
def single_thread() -> bool:
    """True if the block has one thread (on a CPU), which may choose another order of loops.  A compile-time constant."""


@_primitive
def is_leader() -> bool:
    """True in exactly one thread of the block."""


@_primitive
def sync() -> None:
    """Barrier of the block's threads; orders their memory accesses."""


@_primitive
def arrive_last(counter: int) -> bool:
    """True in the whole block that reaches ``counter`` (an int32 word, zero between
    launches) last of the grid; all writes of the grid's blocks are then visible."""


# This PE's memory ---------------------------------------------------------------------


@_primitive
def lock(word: int) -> None:
    """Wait until no other block of this PE holds ``word`` (an int64 word of this PE, 0 when free), and hold it."""


@_primitive
def unlock(word: int) -> None:
    """Release ``word``.  The block that holds it next sees all writes of this block.  A block that holds a word must not
    wait for a peer, or blocks of other kernels could wait for ever."""


@_primitive
def load(base: int, index: int) -> Any:
    """Element ``index`` of the kernel's dtype at address ``base``."""


@_primitive
def store(base: int, index: int, value: float) -> None:
    """Write element ``index`` of the kernel's dtype at address ``base``."""


@_primitive
def real(x: float) -> Any:
    """``x`` in the kernel's dtype (Python literals are float64)."""


@_primitive
def product(x: Any, y: Any) -> Any:
    """x * y of two floats of one type, rounded: no compiler fuses it with the sum that takes it."""


@_primitive
def multiply_add(x: Any, y: Any, z: Any) -> Any:
    """x * y + z of three floats of one type, rounded once."""


@_primitive
def bits(x: float) -> int:
    """The 64 bits of a float64, as an int64."""


@_primitive
def add_shared(base: int, index: int, value: int) -> None:
    """Atomically add an int64 to word ``index`` at ``base`` (memory of this PE)."""


@_primitive
def block_sum(x: float) -> float:
    """Sum of the threads' float64 ``x`` in a fixed order, in every thread."""


@_primitive
def add_block_sums(base: int, x: Any) -> None:
    """x: a tuple of float64 that are whole numbers.  The sum of each over the block's threads is added to the word of
    its index at ``base``, as by ``add_shared``.  A sum that is NaN is left out; if the first sum is NaN, 1 is added to
    the word after the last."""


@_primitive
def copy(dst: int, src: int, nbytes: int) -> None:
    """Copy bytes inside this PE's memory; 16 bytes a thread where aligned."""


# Partial results ----------------------------------------------------------------------
# While a reduction is under way, partials travel: float32 for the 16-bit floats, the element's own type for all others.
# acc_bytes is the size of one.


@_primitive
def to_partials(ctx: int, dst: int, src: int, count: int) -> None:
    """dst (count,) partials = src (count,) elements."""


@_primitive
def reduce(ctx: int, dst: int, part: int, src: int, count: int) -> None:
    """dst (count,) partials = op(part (count,) partials, src (count,) elements)."""


@_primitive
def reduce_and_round(ctx: int, dst: int, part: int, src: int, count: int) -> None:
    """dst (count,) elements = op(part (count,) partials, src (count,) elements),
    divided by the number of PEs for ``avg``, rounded once to the element's type."""


@_primitive
def reduce_partials(ctx: int, dst: int, part: int, other: int, count: int) -> None:
    """dst (count,) partials = op(part (count,) partials, other (count,) partials), in this
    order: PEs that add the same two in the same order get the same bits."""


@_primitive
def reduce_partials_and_round(ctx: int, dst: int, part: int, other: int, count: int) -> None:
    """``reduce_and_round`` with other (count,) partials in place of elements; dst overlaps neither."""


# Peers --------------------------------------------------------------------------------


@_primitive
def put(ctx: int, dst: int, src: int, nbytes: int, pe: int) -> None:
    """Write ``nbytes`` from local ``src`` to the instance of ``dst`` on ``pe``.  Where no pointer reaches ``pe``,
    src is read later: until the next ``fence``, or until ``pe`` is known to have the data, it stays as it is."""


@_primitive
def put_lines(ctx: int, dst: int, src: int, lines: Lines, pe: int) -> None:
    """Write lines of a box at local ``src`` to the box at ``dst`` on ``pe``: this PE, or one that a pointer reaches."""


@_primitive
def stage_for_put(ctx: int, staging: int, src: int, nbytes: int, pe: int) -> int:
    """The address from which src (nbytes,), a user's memory, can be put to ``pe``: src itself, or, where no pointer
    reaches ``pe``, a copy of it in ``staging`` (nbytes,), in the workspace.  After a fence ``staging`` is free again."""


@_primitive
def get(ctx: int, dst: int, src: int, nbytes: int, pe: int) -> None:
    """Read ``nbytes`` from the instance of ``src`` on ``pe`` to local ``dst``."""


@_primitive
def put_signal(ctx: int, dst: int, src: int, nbytes: int, signal: int, value: int, pe: int) -> None:
    """``put``, then set ``signal`` on ``pe`` (value < POISON): a thread that sees the value sees the data.  Two
    messages from one PE to another may arrive in either order, so that a word has only one under way."""


@_primitive
def fence(ctx: int) -> None:
    """A PE that sees a later signal of this block sees its earlier puts to that PE.  Their sources are free again.
    A third PE may learn of these puts before they arrive: messages between hosts are in order only for a pair of PEs."""


@_primitive
def signal(ctx: int, signal: int, value: int, pe: int) -> None:
    """Set the 64-bit word ``signal`` on ``pe`` (release: after the block's writes)."""


@_primitive
def wait(ctx: int, signal: int, value: int, source: int) -> None:
    """Wait until the local word ``signal`` is at least ``value`` (acquire).  One thread polls.
    source: the PE that an error names (-1: unknown)"""


@_primitive
def refuse_count(ctx: int, why: int, found: int, wanted: int, pe: int) -> None:
    """Give up, as a wait does, because of a count.

    SENDS, TAKES: part ``pe`` has ``found`` elements from element ``wanted`` on, which are not all in x or out;
    DIFFERS: PE ``pe`` sends ``found`` elements, and this PE expects ``wanted``
    """


@_primitive
def signal_all(ctx: int, signals: int, value: int, me: int, n_pes: int) -> None:
    """Set word ``me`` of ``signals`` (n_pes,) on every PE but this one."""


@_primitive
def wait_all(ctx: int, signals: int, value: int, me: int, n_pes: int) -> None:
    """Wait until every word but ``me`` of ``signals`` (n_pes,) is at least ``value``."""


# Several partials at once -------------------------------------------------------------


@_primitive
def combine(
    ctx: int, out: int, slots: int, slot_bytes: int, src: int, count: int, scratch: int, me: int, n_pes: int,
    residual: int = 0
) -> None:  # fmt: skip
    """out (count,) elements = op over all PEs, in their order: src (count,) for this PE,
    slots (n_pes, slot_bytes) for the others; plus residual (count,), unless it is 0, before
    the result is rounded.  scratch (count,) partials may be used."""


@_primitive
def combine_put(
    ctx: int, out: int, there: int, slots: int, slot_bytes: int, src: int, count: int, scratch: int, me: int, n_pes: int
) -> None:
    """``combine`` to out, and ``put`` of the result to ``there`` on every other PE, in one pass.  Where a PE is
    beyond a pointer the puts start from scratch, which the next fence gives back."""


@_primitive
def plus(ctx: int, dst: int, x: int, y: int, count: int) -> None:
    """dst (count,) elements = x (count,) + y (count,) elements, added as partials and rounded once."""


# Packets: data with the epoch inside, so that no flag has to follow it ------------------
# A slot of n bytes holds ``packed_bytes(n)`` of data, and is only ever written as packets.


@_primitive
def send_packets(ctx: int, slot: int, src: int, nbytes: int, epoch: int, pe: int) -> None:
    """Write local src (nbytes,) as packets of this epoch to ``slot`` on PE ``pe``."""


@_primitive
def receive_packets(ctx: int, dst: int, slot: int, nbytes: int, epoch: int, source: int) -> None:
    """dst (nbytes,) = the packets of this epoch in the local ``slot``, as they arrive."""


@_primitive
def receive_plus(ctx: int, dst: int, slot: int, residual: int, count: int, epoch: int, source: int) -> None:
    """``receive_packets`` of count elements, ``plus`` residual (count,)."""


@_primitive
def all_to_all_packets(
    ctx: int, out: int, out_stride: int, src: int, src_stride: int, slots: int, slot_bytes: int, nbytes: int,
    epoch: int, me: int, n_pes: int
) -> None:  # fmt: skip
    """``send_packets`` of row pe of src (rows src_stride bytes apart; 0: one row for all) to slot ``me`` on
    every PE pe, and ``receive_packets`` of what comes to row pe of out; row ``me`` of src to row ``me`` of out."""


@_primitive
def exchange_reduce_packets(
    ctx: int, out: int, slots: int, slot_bytes: int, src: int, count: int, epoch: int, scratch: int, me: int,
    n_pes: int, src_stride: int = 0, residual: int = 0
) -> None:  # fmt: skip
    """``send_packets`` of row pe of src (as above) to slot ``me`` on every PE pe, and ``combine_packets`` of
    what comes, in one: each thread adds up what it received while its next packets are under way.
    residual: as in ``combine``."""


@_primitive
def reduce_forward_packets(
    ctx: int, out: int, slots: int, reduced: int, slot_bytes: int, src: int, count: int, epoch: int, scratch: int,
    me: int, n_pes: int, residual: int = 0
) -> None:  # fmt: skip
    """``combine_packets`` to out, and ``send_packets`` of the result to slot ``me`` of ``reduced``
    on every PE, in one: each thread passes its part on as soon as it has added it up.
    To out, ``plus`` residual (count,) unless it is 0; out may be the residual."""


@_primitive
def combine_packets(
    ctx: int, out: int, slots: int, slot_bytes: int, src: int, count: int, epoch: int, scratch: int, me: int, n_pes: int
) -> None:
    """``combine``, with packets of this epoch in ``slots`` (n_pes, slot_bytes)."""


# Numbers between blocks that run at the same time: each thread sends and takes packets for itself ------------
# A slot is 16 bytes, at a multiple of 16.


@_primitive
def marked(ctx: int, number: int) -> int:
    """The number that packets of exchange ``number`` carry: with POISON if this PE has given up."""


@_primitive
def send_number(slot: int, x: float, number: int) -> None:
    """Write the float64 ``x`` and the number of the exchange, as ``marked``, to a slot of this PE, or of
    another by pointer.  Write a slot again only when its last value is known to have been taken."""


@_primitive
def all_sent() -> None:
    """Keep the order: what this thread has sent leaves before its later instructions, which a compiler might move up."""


@_primitive
def take_numbers(ctx: int, slots: tuple[int, ...], number: int, source: int) -> tuple[float, ...]:
    """Wait until all slots carry ``number``; the float64 in each, 0.0 for an address of 0.  source: as in ``wait``"""


@_primitive
def add_counted_sums(ctx: int, base: int, x: tuple[float, ...]) -> None:
    """``add_block_sums`` of the parts of one sum (``in_kernel/exact.py``).  Each word also counts the blocks that have
    added to it; a block adds once."""


@_primitive
def counted_sums(ctx: int, base: int, before: int, now: int, keep: int, n: int) -> tuple[float, float, float, float]:
    """Wait until all blocks of this PE have added to the first ``n`` of four sums at ``base``; return what each sum has
    grown by since ``before``, an address of its earlier words.  The result is the same in all threads.

    The words are copied to ``now``; if keep is not 0, the growth of the first sum's words is written there.  This orders
    no other memory access: a thread that returns may not see what other blocks wrote.
    """


# Multicast: one access reaches the instances of a symmetric object on all PEs ------------
# Addresses and bytes are multiples of 16.


@_primitive
def reduce_multicast(ctx: int, dst: int, src: int, count: int, scratch: int) -> None:
    """dst (count,) elements = op over all PEs of their src (count,), rounded once.
    scratch (count,) partials may be used."""


@_primitive
def store_multicast(ctx: int, dst: int, src: int, nbytes: int) -> None:
    """Write local src (nbytes,) to ``dst`` on all PEs."""


@_primitive
def meet_multicast(ctx: int, signal: int, value: int, n_pes: int) -> None:
    """Set the local word ``signal`` to ``value``, and wait until this word is at least ``value`` on every PE:
    a barrier, which also orders multicast and plain accesses to the same memory."""


# Peer tables and epochs --------------------------------------------------------------------


@_primitive
def read_peer(peer_table: int, index: int) -> int:
    """Word ``index`` of the int64 words that the algorithm's ``peer_table`` function gave for this PE."""


@_primitive
def read_epoch(epochs: int, index: int) -> int:
    """Last finished epoch: word ``index`` of this PE's ``epochs`` (int64)."""


@_primitive
def write_epoch(epochs: int, index: int, epoch: int) -> None:
    """Record a finished epoch, once every thread of the block is done."""
