"""Layout of ``ctx``, the block of int64 words that tells a kernel where it runs.

The block lies in memory of this PE, on a GPU in device memory.  The words before PEER_OFFSETS are scalars.  At
PEER_OFFSETS follows a word for each PE: the difference between the symmetric addresses of that PE and this PE, or
UNREACHABLE.  On a GPU another word for each PE follows: its number in NVSHMEM, which may run over more PEs than the team.
"""

from collections.abc import Mapping
from typing import Any

from ..errors import Record
from ..kernels.block import EPOCH_BITS

ME = 0  # number of this PE
N_PES = 1  # number of PEs of the team
TIMEOUT_NS = 2  # deadline of a wait; 0: no deadline
ABORT = 3  # address of the abort word (int64, host memory), which ends every wait if it is not 0; host backend: address
# of monitor_words (job/liveness.py)
RECORD = 4  # address of the record of the first wait that gave up
CALL = 5  # host backend: number of the running kernel, for the record
# Host backend: addresses of the compiled loops over elements, named as the steps of a reduction (compile/arithmetic.py).
TO_PARTIALS, REDUCE, REDUCE_AND_ROUND, REDUCE_PARTIALS, REDUCE_PARTIALS_AND_ROUND = range(6, 11)
ITEM_BYTES, ACC_BYTES = 11, 12  # host backend: sizes of an element and a partial of the running reduction
# Host backend: addresses of the loops for a reduction with a residual.  The second adds the residual and rounds.
REDUCE_AND_DIVIDE, ADD_RESIDUAL, PLUS = 13, 14, 15
SIGNALS = 16  # host backend: address of the words by which a wait lets Python run signal handlers
PATIENCE = 17  # host backend: polls of a signal before the PE sleeps between polls
MULTICAST = 19  # cuda backend: difference between multicast and symmetric addresses, 0: no multicast
GAVE_UP = 20  # 0, or POISON (kernels/block.py) after a wait of this PE has given up
# Address of (n_pes,) words about each PE's last sign of life (job/liveness.py): on the host backend the addresses of the
# PEs' times, on the cuda backend the words of a DeviceLiveness
ALIVE = 21
OWN_ALIVE = 22  # host backend: address of the number of this process's heartbeat words; their addresses follow it
SHARED = 23  # cuda backend: address of the word that the first wait to give up takes; after it the number of teams of
# this process, and the address of each team's ``ctx``
NETWORK = 24  # host backend: address of the words of this team's channel to other nodes, 0: no channel
SEND, GET, PROGRESS = 25, 26, 27  # host backend: addresses of the compiled functions of that channel, 0: no channel
PEER_OFFSETS = 28

UNREACHABLE = -(1 << 62)  # a peer offset that no address can have

# The record: int64 words, written once, by the first wait of a PE that gives up.
RECORD_TAKEN, RECORD_SOURCE, RECORD_CALL, RECORD_EPOCH, RECORD_FOUND, RECORD_ME = range(6)
RECORD_WORDS = 8  # RECORD_FOUND is POISON or more if the awaited PE gave up first
TAGGED = 1 << 32  # added to the kernel's number in RECORD_CALL if the two epochs of the record carry tags
# ``why`` * REFUSED is added by ``refuse_count``: the two epochs are then counts, and RECORD_SOURCE is the PE of a part.
# INTERRUPTED * REFUSED (errors.py) is added if the handler of a signal of the operating system has ended the wait.
REFUSED = 1 << 33
# The difference of two tagged words tells their order, also after a round's number wraps: x - y has the bit BEHIND if x
# is of an earlier round than y, and (x - y) & ROUNDS is 0 if both are of the same round.
BEHIND, ROUNDS = 1 << (EPOCH_BITS - 1), (1 << EPOCH_BITS) - 1
SPINS_BETWEEN_LOOKS = 1024  # polls of a signal between two checks of the clock and the abort word


def read_record(words: Any, call_names: Mapping[int, str]) -> Record | None:
    """The record in these words, or None if no wait has given up.  call_names: {number of a call: its name}"""
    if not words[RECORD_TAKEN]:
        return None
    _, source, call, epoch, found, me = map(int, words[: RECORD_ME + 1])
    flags, number = divmod(call, TAGGED)
    return Record(me, source, call_names.get(number, "a kernel"), epoch, found, bool(flags & 1), flags >> 1)
