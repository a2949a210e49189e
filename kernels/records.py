"""The records that a kernel takes: the PE that runs it, the call, and the addresses of its workspace; and those that it
makes for primitives.

The host passes their fields as plain numbers and the compiler takes the records apart, so that they cost nothing
(``pennympi/compile/bind.py``).  Numbers are int64; an address is that of this PE's memory.
"""

from typing import NamedTuple


class PE(NamedTuple):
    """The PE that runs the kernel.

    ctx: the handle that primitives take first;  me: this PE's number in the team;  n_pes: PEs of the team
    """

    ctx: int
    me: int
    n_pes: int


class Reduction(NamedTuple):
    """A call that reduces elements of one dtype.

    out, src:    addresses of the result and of this PE's part
    n_elems:     of out
    piece_elems: elements of one message of one block
    item_bytes:  of an element;  acc_bytes: of a partial
    residual:    address of n_elems elements that are added to the result, 0: none
    root:        the PE that gets the result, where only one does
    """

    out: int
    src: int
    n_elems: int
    piece_elems: int
    item_bytes: int
    acc_bytes: int
    residual: int
    root: int


class Piece(NamedTuple):
    """n_elems elements of a call that reduces, ``nbytes`` bytes.

    out, src, residual: addresses of the first element in the arrays of the call; residual is 0 if the call has none
    """

    out: int
    src: int
    residual: int
    n_elems: int
    nbytes: int


class Transfer(NamedTuple):
    """A call that only moves bytes.

    out, src:         addresses;  nbytes: of one PE's part
    piece_bytes:      of one message of one block
    root:             the PE that sends, where only one does
    out_is_symmetric: 1 if peers may write ``out`` of this PE, which is symmetric then
    """

    out: int
    src: int
    nbytes: int
    piece_bytes: int
    root: int
    out_is_symmetric: int


class Parts(NamedTuple):
    """A call whose parts have any length.

    out, src:    addresses;  out_elems, src_elems: elements that they have
    send_counts, receive_counts: addresses of (n_pes,) words of this PE: elements of its part for, or from, each PE
    send_starts, receive_starts: addresses of (n_pes,) words: the first element of each part in src, or out; 0: parts are
                                 packed, one after another in the order of the PEs
    elem_bytes:  of what the counts count;  item_bytes: of what a reduction adds up
    piece_bytes: of one message of one block, at most
    """

    out: int
    src: int
    send_counts: int
    send_starts: int
    receive_counts: int
    receive_starts: int
    src_elems: int
    out_elems: int
    elem_bytes: int
    item_bytes: int
    piece_bytes: int


class Message(NamedTuple):
    """Bytes that go from one PE to another.

    dst, src: addresses;  nbytes: of both
    peer:     the PE at the other end
    """

    dst: int
    src: int
    nbytes: int
    peer: int


class Slots(NamedTuple):
    """Consecutive slots of ``nbytes`` each, from ``address`` on."""

    address: int
    nbytes: int


class Packets(NamedTuple):
    """Slots of packets, and the epoch that the packets carry."""

    slots: Slots
    epoch: int


ONE_ROW = 0  # bytes from a row to the next, where all PEs get the same row


class PacketRows(NamedTuple):
    """``nbytes`` bytes of the row of each PE.

    out, src: addresses of those of row 0
    out_stride, src_stride: bytes from a row to the next; ``src_stride`` may be ONE_ROW
    """

    out: int
    src: int
    out_stride: int
    src_stride: int
    nbytes: int


class StagingBuffers(NamedTuple):
    """Memory of a workspace that one-sided operations go through where NVSHMEM does not know the user's array.

    staging: (blocks, room_bytes) bytes, a buffer for each block of a launch
    locks: (blocks,) words, each held by the block that uses its buffer: launches may run side by side
    counter: an int32 word of this launch, 0 before and after it, which the blocks count up to find the last of them
    """

    staging: int
    locks: int
    room_bytes: int
    counter: int


class Lines(NamedTuple):
    """Lines ``first`` .. ``stop - 1`` of a box of bytes: planes of ``rows`` lines of ``nbytes`` each.

    dst_plane_bytes, dst_row_bytes: from one plane, and from one line of a plane, to the next in the destination
    src_plane_bytes, src_row_bytes: in the source
    """

    rows: int
    nbytes: int
    dst_plane_bytes: int
    dst_row_bytes: int
    src_plane_bytes: int
    src_row_bytes: int
    first: int
    stop: int


class Halo(NamedTuple):
    """The messages of a halo exchange, and the memory that they go through.

    me:          this PE's number
    messages:    rows of words, one for each neighbour at a side (kernels/halo/message.py);  n_messages: rows
    pieces:      parts that a message is cut into, on all PEs
    inbox:       (2, inbox_bytes) bytes that neighbours write;  outbox: (inbox_bytes,), which only this PE writes
    signals:     (numbers * pieces, 2) words that neighbours set to epochs;  epochs: (numbers * pieces,), this PE's;
                 numbers: sides of all fields, those without a neighbour too
    """

    me: int
    messages: int
    n_messages: int
    pieces: int
    inbox: int
    outbox: int
    signals: int
    epochs: int
    inbox_bytes: int


class Work(NamedTuple):
    """The workspace of an algorithm on this PE.

    inbox:        (blocks, 2, buffer_bytes) bytes that peers write;  outbox: the same, which only this PE writes
    signals:      64-bit words that peers set to epochs
    epochs:       (blocks,) 64-bit words of this PE: the last finished epoch of each block
    peer_table:   64-bit words that say which PE sends to which, where the algorithm has any
    buffer_bytes: of one of a block's two buffers
    tag:    16 bits that say which call this is, shifted left by EPOCH_BITS: added to each epoch that travels
    """

    inbox: int
    outbox: int
    signals: int
    epochs: int
    peer_table: int
    buffer_bytes: int
    tag: int
