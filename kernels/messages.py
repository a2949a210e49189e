"""Primitives that reach peers: puts, signals and waits, epochs and the peer table, as part of ``block.py``."""
# mypy: disable-error-code="empty-body"

from .primitive import primitives
from .records import Lines, Message


def put(ctx: int, dst: int, src: int, nbytes: int, pe: int) -> None:
    """Write ``nbytes`` from local ``src`` to the instance of ``dst`` on ``pe``.  If no pointer reaches ``pe``, NVSHMEM
    reads src later, so do not write src before the next ``fence``, or before a message shows that ``pe`` has the data."""


def put_lines(ctx: int, dst: int, src: int, lines: Lines, pe: int) -> None:
    """Write lines of a box at local ``src`` to the box at ``dst`` on ``pe``: this PE, or one that a pointer reaches."""


def stage_for_put(ctx: int, staging: int, src: int, nbytes: int, pe: int) -> int:
    """The address from which src (nbytes,), a user's memory, can be put to ``pe``: src itself or, if no pointer reaches
    ``pe``, a copy in ``staging`` (nbytes,), in the workspace.  After a fence ``staging`` is free again."""


def get(ctx: int, dst: int, src: int, nbytes: int, pe: int) -> None:
    """Read ``nbytes`` from the instance of ``src`` on ``pe`` to local ``dst``."""


def put_signal(ctx: int, message: Message, signal: int, value: int) -> None:
    """``put``, then set ``signal`` on the peer (value < POISON): a thread that sees the value sees the data.  Two
    messages from one PE to another may arrive in either order, so only one message of a word may be under way."""


def fence(ctx: int) -> None:
    """A PE that sees a later signal of this block sees the block's earlier puts to that PE.  The sources of these puts
    are free again.  A third PE may learn of a put before it arrives, since only the messages of one pair of PEs are in
    order between hosts."""


def signal(ctx: int, signal: int, value: int, pe: int) -> None:
    """Set the 64-bit word ``signal`` on ``pe`` (release: after the block's writes)."""


def wait(ctx: int, signal: int, value: int, source: int) -> None:
    """Wait until the local word ``signal`` is at least ``value`` (acquire).  One thread polls.
    source: number of the PE that an error names; -1: unknown"""


def refuse_count(ctx: int, why: int, count: int, wanted: int, pe: int) -> None:
    """Give up, as a wait does, because of a wrong count.

    why: SENDS or TAKES if part ``pe`` has ``count`` elements, begins at element ``wanted``, and does not fit into x, or
         into out; DIFFERS if PE ``pe`` sends ``count`` elements, and this PE expects ``wanted``
    """


def signal_all(ctx: int, signals: int, value: int, me: int, n_pes: int) -> None:
    """Set word ``me`` of ``signals`` (n_pes,) on every other PE."""


def wait_all(ctx: int, signals: int, value: int, me: int, n_pes: int) -> None:
    """Wait until every word but ``me`` of ``signals`` (n_pes,) is at least ``value``."""


def read_peer(peer_table: int, index: int) -> int:
    """Word ``index`` of the int64 words that the algorithm's ``peer_table`` function returned for this PE."""


def read_epoch(epochs: int, index: int) -> int:
    """Word ``index`` of this PE's int64 words ``epochs``: the last finished epoch, a count, or any other number."""


def write_epoch(epochs: int, index: int, epoch: int) -> None:
    """Write word ``index`` of this PE's int64 words ``epochs``, after every thread of the block has called this."""


primitives(globals())
