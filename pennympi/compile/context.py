"""Layout of ``ctx``, the block of int64 words that tells a kernel where it runs.

It lives in memory of this PE, on a GPU in device memory.  The words up to PEER_OFFSETS are scalars.  Then comes one word
a PE: what to add to a local symmetric address to get the address of that PE's instance, or UNREACHABLE.  On a GPU one
more word a PE follows: its number in NVSHMEM, which may run over more PEs than the team.
"""

from collections.abc import Mapping
from typing import Any

from ..errors import Record
from ..kernels.block import EPOCH_BITS

ME = 0  # this PE
N_PES = 1  # PEs of the team
TIMEOUT_NS = 2  # deadline of a wait, 0: it waits for ever
ABORT = 3  # address of the abort word (int64, host memory): not 0 ends every wait; host backend: of monitor_words
# (job/liveness.py)
RECORD = 4  # address of the record of the first wait that gave up
CALL = 5  # host backend: number of the running kernel, for the record
# Host backend: addresses of the compiled loops over elements, named as the steps of a reduction (compile/arithmetic.py).
TO_PARTIALS, REDUCE, REDUCE_AND_ROUND, REDUCE_PARTIALS, REDUCE_PARTIALS_AND_ROUND = range(6, 11)
ITEM_BYTES, ACC_BYTES = 11, 12  # host backend: of the running reduction
CLOSE, LAST, PLUS = 13, 14, 15  # host backend: addresses of the loops that add a residual
SIGNALS = 16  # host backend: address of the words by which a wait lets Python run handlers of signals
PATIENCE = 17  # host backend: polls of a signal before the PE sleeps between them
MULTICAST = 19  # cuda backend: what to add to a symmetric address to reach all PEs' instances, 0: no multicast
GAVE_UP = 20  # 0, or POISON (kernels/block.py) once a wait of this PE has given up
ALIVE = 21  # address of (n_pes,) words about each PE's last sign of life (job/liveness.py); host backend: the words'
# addresses, 0 for a PE of another node; cuda backend: the words of a DeviceLiveness
OWN_ALIVE = 22  # host backend: address of the number of this process's own words; their addresses follow it
SHARED = 23  # cuda backend: address of a word that the first wait to give up takes; the number of teams of this process,
# and the address of each one's ``ctx``, follow
NETWORK = 24  # host backend: address of the words of this team's channel to other nodes, 0: it has none
SEND, GET, PROGRESS = 25, 26, 27  # host backend: addresses of the compiled functions of that channel, 0 where it has none
PEER_OFFSETS = 28

UNREACHABLE = -(1 << 62)  # a peer offset that no address can have

# The record: int64 words, written once, by the first wait of a PE that gives up.
RECORD_TAKEN, RECORD_SOURCE, RECORD_CALL, RECORD_EPOCH, RECORD_FOUND, RECORD_ME = range(6)
RECORD_WORDS = 8  # RECORD_FOUND is POISON or more where it was the other PE that gave up first
TAGGED = 1 << 32  # added to the kernel's number, RECORD_CALL, where epoch and found carry tags
REFUSED = 1 << 33  # added as often as ``why`` of ``refuse_count`` says: epoch and found are counts, source is a part's PE
# (INTERRUPTED times, where a signal's handler has ended the wait)
# Of two words that carry tags, (one - other) & BEHIND is not 0 if ``one`` is of an earlier round, and
# (one - other) & ROUNDS is 0 if both are of the same: nothing of that changes where a number wraps.
BEHIND, ROUNDS = 1 << (EPOCH_BITS - 1), (1 << EPOCH_BITS) - 1
SPINS_BETWEEN_LOOKS = 1024  # polls of a signal between two looks at clock and abort word


def read_record(words: Any, call_names: Mapping[int, str]) -> Record | None:
    """The record in these words, None if no wait has given up.  call_names: {number of a call: its name}"""
    if not words[RECORD_TAKEN]:
        return None
    _, source, call, epoch, found, me = map(int, words[: RECORD_ME + 1])
    flags, number = divmod(call, TAGGED)
    return Record(me, source, call_names.get(number, "a kernel"), epoch, found, bool(flags & 1), flags >> 1)
