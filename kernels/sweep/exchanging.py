"""A pass that begins with the exchange of the halos that it reads: one launch, in which the exchange is hidden.

    blocks that receive      | ready, put, wait, arrive | sweep
    more blocks, which send  | put | sweep
    blocks that read a halo  |           wait           | sweep
    all other blocks         | sweep

Blocks start in the order of their numbers, and those that exchange come first.  So they run while others wait for them.
"""

from collections.abc import Callable
from typing import NamedTuple

from ..block import arrive, block, read_epoch, wait_arrivals, write_epoch
from ..halo.exchange import exchange_parts
from ..records import Halo
from .records import Pass


class PassExchange(NamedTuple):
    """The exchange that a pass begins with.

    receivers, senders: as in ``exchange_parts``
    first_waiting, n_waiting: the first block that reads them, and the number of those that do, one after another
    arrivals:  address of a word of this PE, which counts the blocks that have received, in all launches
    passes:    address of (n_waiting,) words of this PE: launches of which each block has swept its points
    """

    halo: Halo
    receivers: int
    senders: int
    first_waiting: int
    n_waiting: int
    arrivals: int
    passes: int


def exchanging_pass(sweep: Callable[..., None]) -> Callable[..., None]:
    """The kernel of a pass that exchanges the halos of the old field first.  sweep: the kernel of a pass"""

    def exchange_and_sweep(ctx: int, sweeps: Pass, exchange: PassExchange):
        """The pass."""
        begin(ctx, exchange)
        sweep(ctx, sweeps)

    return exchange_and_sweep


def begin(ctx: int, exchange: PassExchange):
    """Exchange this block's parts of the halos, and wait for the others if the block reads halos."""
    waiting = block() - exchange.first_waiting
    waits, number = waiting >= 0 and waiting < exchange.n_waiting, 0
    if waits:
        number = read_epoch(exchange.passes, waiting) + 1
    if block() < exchange.senders:
        exchange_parts(ctx, exchange.halo, exchange.receivers, exchange.senders)
    if block() < exchange.receivers:
        arrive(exchange.arrivals)
    if waits:
        wait_arrivals(exchange.arrivals, number * exchange.receivers)
        write_epoch(exchange.passes, waiting, number)
