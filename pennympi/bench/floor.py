"""What no call can be faster than: a launch, one hop, and its bytes over the link, measured in the same run."""

import contextlib
from typing import Any

from ..errors import Unsupported
from ..kernels.block import receive_packets, send_packets, signal, wait
from ..team import Team
from .cases import partner
from .implementation import Call
from .memory import array_module
from .result import Floor
from .timing import Effort, on_device, on_host

LINK_BYTES, SLOT_BYTES, WORD_BYTES = 64 << 20, 512, 8
TRIPS = 200  # of a launch
EFFORT = Effort(calls=5, budget_ms=20.0)


def nothing(ctx):
    """A launch."""


def by_packets(ctx, slots, word, begin, end, other, leads):
    """Round trips begin..end-1 of 8 bytes with PE ``other``.  slots: (2, SLOT_BYTES); word: (1,) int64"""
    for epoch in range(begin, end):
        # What comes back in round e proves that the slot of e has been read: two of them are enough.
        at = slots + (epoch & 1) * SLOT_BYTES
        if leads:
            send_packets(ctx, at, word, WORD_BYTES, epoch, other)
        receive_packets(ctx, word, at, WORD_BYTES, epoch, other)
        if not leads:
            send_packets(ctx, at, word, WORD_BYTES, epoch, other)


def by_signals(ctx, slots, word, begin, end, other, leads):
    """The same by signals, where packets can't go."""
    for epoch in range(begin, end):
        if leads:
            signal(ctx, slots, epoch, other)
        wait(ctx, slots, epoch, other)
        if not leads:
            signal(ctx, slots, epoch, other)


def measure(team: Team) -> Floor:
    """The floor of a team of two or more PEs, whose PEs 2k and 2k + 1 do this together.  Collective."""
    kernel, launch_us = team.kernel(nothing, "int64"), 0.0  # a CPU calls a function, as it does for a trip
    if team.backend == "cuda":
        launch_us = _us(team, lambda stream: kernel(1, stream=stream, threads=32), graph=True)
    return Floor(launch_us, _hop_us(team, launch_us), _gb_per_s(team))


def _us(team: Team, call: Call, graph: bool = False) -> float:
    """The slowest PE's median of a call, in us; in a graph all launches would have the same arguments.  Collective."""
    if team.backend == "host":
        return on_host(team, [call], EFFORT)[0].median_us
    return on_device(team, call, team.stream(), EFFORT, graph).median_us


def _hop_us(team: Team, launch_us: float) -> float:
    """A store to the partner until its poll sees it: half of a round trip.  Collective."""
    place, other = team.place, partner(team.me, team.n_pes)
    kernel = team.kernel(by_packets if place.packets and place.ll128_safe else by_signals, "int64")
    slots, word = team.zeros(2 * SLOT_BYTES // WORD_BYTES, "int64"), team.zeros(1, "int64")
    done = 1

    def trips(stream: Any) -> None:
        nonlocal done
        end = done + TRIPS if other != team.me else done  # the last of an odd number of PEs has no partner
        kernel(1, slots, word, done, end, other, int(team.me < other), stream=stream, threads=32)
        done += TRIPS

    us = _us(team, trips)
    team.barrier()
    team.free(slots)
    team.free(word)
    return (us - launch_us) / TRIPS / 2


def _gb_per_s(team: Team) -> float:
    """What a link carries one way while as much comes the other way: a copy of all PEs to their partners.  Collective."""
    to: Any = None
    there, here = team.zeros(LINK_BYTES, "uint8"), array_module(team).zeros(LINK_BYTES, "uint8")
    other = partner(team.me, team.n_pes)
    with contextlib.suppress(Unsupported):
        to = team.peer(there, other)
    by_pointer = all(team.gather(to is not None))

    def call(stream: Any) -> None:
        if not by_pointer:
            team.put(there, here, other, stream=stream)
        elif stream is None:
            to[...] = here
        else:  # the copy engine, which is faster than stores
            runtime = array_module(team).cuda.runtime
            runtime.memcpyAsync(to.data.ptr, here.data.ptr, LINK_BYTES, runtime.memcpyDefault, stream.ptr)

    us = _us(team, call)
    team.quiet()
    team.barrier()
    team.synchronize()
    team.free(there)
    return LINK_BYTES / us / 1e3
