"""The primitives of a checked kernel: each checks that the memory it accesses lies in an array of the launch.

``bounds`` is the address of int64 words: the record of the launch (RECORD_WORDS), the number of PEs, the bytes of an
element, 1 if an int argument may be the address of memory of unknown size, the number of arrays; then for each array its
address, its bytes, and 1 if it is symmetric.  An access outside the array that holds its base is noted in the record,
and left out.  A peer's instance of a symmetric array has the same size, so the sender checks a put.
"""

import inspect
from collections.abc import Sequence
from functools import cache
from types import FunctionType
from typing import Any

from ..kernels import block
from ..kernels.block import read_epoch
from ..kernels.packets import GROUP_BYTES, PACKET_BYTES, PACKET_DATA_BYTES
from .stubs import instruction

RECORD_WORDS = 5  # 1 if a bad access was noted; then the number of its operand, its base, offset and bytes
NOT_SYMMETRIC = -(1 << 62)  # in place of the bytes: the array is not symmetric
N_PES, ITEM_BYTES, UNKNOWN_MEMORY, N_ARRAYS, ARRAYS = range(RECORD_WORDS, RECORD_WORDS + 5)  # indices of words
ARRAY_WORDS = 3


@instruction
def note_access(record, site, base, offset, nbytes):
    """Write the record of a launch, unless it holds an earlier access."""


def inside(bounds, site, base, offset, nbytes):
    """Whether bytes lie in the array that holds their base; if no array holds it, in any array or unknown memory."""
    if nbytes == 0:
        return True
    first, holds_base, holds_all = base + offset, False, read_epoch(bounds, UNKNOWN_MEMORY) != 0
    for k in range(read_epoch(bounds, N_ARRAYS)):
        start = read_epoch(bounds, ARRAYS + ARRAY_WORDS * k)
        stop = start + read_epoch(bounds, ARRAYS + ARRAY_WORDS * k + 1)
        fits = nbytes > 0 and start <= first and first + nbytes <= stop
        if start <= base and base < stop:
            if fits:
                return True
            holds_base = True
        holds_all |= fits
    if holds_base or not holds_all:
        note_access(bounds, site, base, offset, nbytes)
    return holds_all and not holds_base


def is_symmetric(bounds, site, base, nbytes):
    """Whether peers have an instance of the array that holds an address."""
    holds_base = False
    for k in range(read_epoch(bounds, N_ARRAYS)):
        start = read_epoch(bounds, ARRAYS + ARRAY_WORDS * k)
        if start <= base and base < start + read_epoch(bounds, ARRAYS + ARRAY_WORDS * k + 1):
            if read_epoch(bounds, ARRAYS + ARRAY_WORDS * k + 2) != 0:
                return True
            holds_base = True
    if nbytes == 0 or (read_epoch(bounds, UNKNOWN_MEMORY) != 0 and not holds_base):
        return True
    note_access(bounds, site, base, 0, NOT_SYMMETRIC)
    return False


def is_pe(bounds, site, pe):
    """Whether ``pe`` is the number of a PE of the team."""
    if 0 <= pe and pe < read_epoch(bounds, N_PES):
        return True
    note_access(bounds, site, pe, 0, 0)
    return False


_ITEM = f"read_epoch_(bounds, {ITEM_BYTES})"
_DST, _SRC = ("dst", "0", "nbytes"), ("src", "0", "nbytes")
_WORD, _SIGNALS = ("signal", "0", "8"), ("signals", "0", "8 * n_pes")
_TO, _FROM = ("message.dst", "0", "message.nbytes"), ("message.src", "0", "message.nbytes")
_PACKETS = f"(message.nbytes + {PACKET_DATA_BYTES - 1}) // {PACKET_DATA_BYTES} * {PACKET_BYTES}"
_GROUPS = (f"{GROUP_BYTES} * lines.first", f"{GROUP_BYTES} * (lines.stop - lines.first)")
_LAST_LINE = "(message.nbytes // lines.nbytes - 1)"
_SOME_LINE = "(lines.nbytes if lines.first < lines.stop else 0)"


def _line(side: str, number: str) -> str:
    """The bytes in front of a line of a box."""
    return f"{number} // lines.rows * lines.{side}_plane_bytes + {number} % lines.rows * lines.{side}_row_bytes"


def _lines_of_message(side: str) -> tuple[tuple[str, str, str], ...]:
    """The first and the last line of a message of lines."""
    address = f"message.{side}"
    return (address, "0", _SOME_LINE), (address, _line(side, _LAST_LINE), _SOME_LINE)


class Check:
    """The memory that a primitive accesses.

    memory: (base, offset, bytes) of each access, by the names of parameters or of a record's fields
    pe:     name of the parameter that is a PE, "": none
    peers:  the bases that are also addresses on a peer
    result: the result if the access was left out
    """

    def __init__(self, *memory: tuple[str, str, str], pe: str = "", peers: Sequence[str] = (), result: str = "None"):
        self.memory, self.pe, self.peers, self.result = memory, pe, peers, result
        self.operands = (*(base for base, _, _ in memory), *((pe,) if pe else ()))


CHECKS = {
    "load": Check(("base", f"index * {_ITEM}", _ITEM), result="real(0)"),
    "store": Check(("base", f"index * {_ITEM}", _ITEM)),
    "add_shared": Check(("base", "8 * index", "8")),
    "add_block_sums": Check(("base", "0", "8 * len(x)")),
    "copy": Check(_DST, _SRC),
    "put": Check(_DST, _SRC, pe="pe", peers=("dst",)),
    "get": Check(_DST, _SRC, pe="pe", peers=("src",)),
    "put_signal": Check(_WORD, _TO, _FROM, pe="message.peer", peers=("signal", "message.dst")),
    "stage_for_put": Check(_SRC, pe="pe", result="src"),
    "signal": Check(_WORD, pe="pe", peers=("signal",)),
    "signal_all": Check(_SIGNALS, peers=("signals",)),
    "wait": Check(_WORD),
    "wait_all": Check(_SIGNALS),
    "read_peer": Check(("peer_table", "8 * index", "8"), result="0"),
    "read_epoch": Check(("epochs", "8 * index", "8"), result="0"),
    "write_epoch": Check(("epochs", "8 * index", "8")),
    "lock": Check(("word", "0", "8")),
    "unlock": Check(("word", "0", "8")),
    "send_packets": Check(("message.dst", "0", _PACKETS), _FROM, pe="message.peer", peers=("message.dst",)),
    "receive_packets": Check(("message.src", "0", _PACKETS), _TO),
    "send_lines": Check(("message.dst", *_GROUPS), *_lines_of_message("src"), pe="message.peer", peers=("message.dst",)),
    "receive_lines": Check(("message.src", *_GROUPS), *_lines_of_message("dst")),
    "put_lines": Check(
        ("dst", _line("dst", "lines.first"), _SOME_LINE),
        ("dst", _line("dst", "(lines.stop - 1)"), _SOME_LINE),
        ("src", _line("src", "lines.first"), _SOME_LINE),
        ("src", _line("src", "(lines.stop - 1)"), _SOME_LINE),
        pe="pe",
        peers=("dst",),
    ),
    "arrive": Check(("counter", "0", "8")),
    "wait_arrivals": Check(("counter", "0", "8")),
    "arrive_last": Check(("counter", "0", "4"), result="False"),
}


@cache
def checked_primitive(name: str) -> FunctionType:
    """The checked form of a primitive, with two more parameters: ``bounds``, and the number of its first operand."""
    check, primitive = CHECKS[name], getattr(block, name)
    names = ", ".join(inspect.signature(primitive).parameters)
    tests = []
    for k, (base, offset, nbytes) in enumerate(check.memory):
        test = f"inside(bounds, site + {k}, {base}, {offset}, {nbytes})"
        tests.append(test + f" and is_symmetric(bounds, site + {k}, {base}, {nbytes})" * (base in check.peers))
    tests += [f"is_pe(bounds, site + {len(tests)}, {check.pe})"] * bool(check.pe)
    # The peer waits for the signal of a message that is left out, so the signal is sent; then this PE raises an error.
    signal_alone = f"    if {tests[0]} and {tests[-1]}:\n        signal_(ctx, signal, value, message.peer)\n"
    source = (
        f"def checked_{name}(bounds, site, {names}):\n"
        f"    if {' and '.join(tests)}:\n"
        f"        return {name}_({names})\n"
        f"{signal_alone * (name == 'put_signal')}"
        f"    return {check.result}\n"
    )
    scope: dict[str, Any] = {"inside": inside, "is_symmetric": is_symmetric, "is_pe": is_pe, "real": block.real}
    scope |= {f"{name}_": primitive, "signal_": block.signal, "read_epoch_": read_epoch, "__name__": __name__}
    exec(compile(source, __file__, "exec"), scope)  # all checked primitives share this source, except for names
    return scope[f"checked_{name}"]
