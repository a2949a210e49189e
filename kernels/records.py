"""The records that a kernel takes (the PE that runs it, the call, and the addresses of its workspace), and the records
that it makes for primitives.

The host passes their fields as plain numbers, and the compiler takes the records apart, so they cost nothing
(``pennympi/compile/bind.py``).  Numbers are int64; addresses belong to this PE's memory.
"""

from typing import NamedTuple


class PE(NamedTuple):
    """The PE that runs the kernel.

    ctx: handle that primitives take first;  me: number of this PE in the team;  n_pes: number of PEs of the team
    """

    ctx: int
    me: int
    n_pes: int


class Reduction(NamedTuple):
    """A call that reduces elements of one dtype.

    out, src:    addresses of the result and of this PE's input
    n_elems:     number of elements of out
    piece_elems: number of elements in a message of a block
    item_bytes:  bytes of an element;  acc_bytes: bytes of a partial
    residual:    address of n_elems elements that are added to the result; 0: none
    root:        number of the PE that gets the result, in a Reduce
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
    """A piece of a reduction: n_elems elements, nbytes bytes.

    out, src, residual: addresses of the first element in the arrays of the call; residual is 0 if the call has none
    """

    out: int
    src: int
    residual: int
    n_elems: int
    nbytes: int


class Transfer(NamedTuple):
    """A call that only moves bytes.

    out, src:         addresses of the result and of this PE's input;  nbytes: bytes of one PE's part
    piece_bytes:      bytes in a message of a block
    root:             number of the PE that sends, in a Broadcast
    out_is_symmetric: 1 if ``out`` is symmetric and peers may write it
    """

    out: int
    src: int
    nbytes: int
    piece_bytes: int
    root: int
    out_is_symmetric: int


class Parts(NamedTuple):
    """A call whose parts have any length.

    out, src:    addresses of the arrays;  out_elems, src_elems: number of elements of the arrays
    send_counts, receive_counts: addresses of (n_pes,) words: number of elements of the part for, or from, each PE
    send_starts, receive_starts: addresses of (n_pes,) words: index of the first element of each part in src, or out;
                                 0: parts are packed, one after another in the order of the PEs
    elem_bytes:  bytes of an element that is counted;  item_bytes: bytes of an element that a reduction adds
    piece_bytes: most bytes in a message of a block
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

    dst, src: addresses of destination and source;  nbytes: number of bytes
    peer:     number of the PE at the remote end
    """

    dst: int
    src: int
    nbytes: int
    peer: int


class Slots(NamedTuple):
    """Consecutive slots of ``nbytes`` each, the first of which lies at ``address``."""

    address: int
    nbytes: int


class Packets(NamedTuple):
    """Slots of packets, and the epoch that the packets carry."""

    slots: Slots
    epoch: int


ONE_ROW = 0  # bytes from a row to the next if all PEs get the same row


class PacketRows(NamedTuple):
    """A piece of ``nbytes`` bytes of each PE's row.

    out, src: addresses of the piece of row 0
    out_stride, src_stride: bytes from a row to the next; ``src_stride`` may be ONE_ROW
    """

    out: int
    src: int
    out_stride: int
    src_stride: int
    nbytes: int


class StagingBuffers(NamedTuple):
    """Memory of a workspace that one-sided operations go through if NVSHMEM does not know the user's array.

    staging: address of (blocks, room_bytes) bytes, a buffer for each block of a launch
    locks:   address of (blocks,) words; a block locks the word of its buffer, since launches may run at the same time
    counter: address of an int32 word of this launch, 0 before and after it, by which the last block finds that it is last
    """

    staging: int
    locks: int
    room_bytes: int
    counter: int


class Lines(NamedTuple):
    """Some lines of a box of bytes, which has planes of ``rows`` lines of ``nbytes`` each.

    first, stop: the lines are first, ..., stop - 1; for ``send_lines`` and ``receive_lines`` the groups of packets
    dst_plane_bytes, dst_row_bytes: bytes from a plane, and from a line of a plane, to the next in the destination
    src_plane_bytes, src_row_bytes: the same in the source
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

    me:          number of this PE
    rows:        address of rows of words, a row for each part of a message (kernels/halo/message.py)
    n_received:  number of the first rows, whose parts this PE receives;  n_sent: number of the other rows
    n_direct:    number of the first rows, which receive a DIRECT message
    inbox:       address of (2, inbox_bytes) bytes that neighbours write
    outbox:      address of (inbox_bytes,) bytes that only this PE writes
    signals:     address of (parts, 2) words that neighbours set to epochs, for the parts of the messages at all sides
    epochs:      address of (n_received + n_sent,) words that only this PE writes
    """

    me: int
    rows: int
    n_received: int
    n_sent: int
    n_direct: int
    inbox: int
    outbox: int
    signals: int
    epochs: int
    inbox_bytes: int


class Work(NamedTuple):
    """The workspace of an algorithm on this PE.

    inbox:        address of (blocks, 2, buffer_bytes) bytes that peers write
    outbox:       address of (blocks, 2, buffer_bytes) bytes that only this PE writes
    signals:      address of 64-bit words that peers set to epochs
    epochs:       address of (blocks,) 64-bit words of this PE: the last finished epoch of each block
    peer_table:   address of the algorithm's 64-bit words that name senders and receivers
    buffer_bytes: bytes of one of a block's two buffers
    tag:          16 bits that identify the call, shifted left by EPOCH_BITS, which are added to each epoch that is sent
    """

    inbox: int
    outbox: int
    signals: int
    epochs: int
    peer_table: int
    buffer_bytes: int
    tag: int
