"""Random exchanges and one-sided calls, as the library launches them (``exchange.py``, ``one_sided.py``)."""

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
from greenlet import getcurrent

from pennympi.kernels import rma
from pennympi.kernels.exchange import Form
from pennympi.simulator.launches import Launch

from .arrays import Held, must_be, values
from .team import FIRST_EPOCHS, Team, allocated, prepared, tagged, words

MOST_BYTES = 600
SPARE = 4  # words allocated for each slot or PE: more than the two that kernels use


class Exchanges:
    """The workspaces of a team's exchanges."""

    def __init__(self, team: Team):
        machine = self.machine = team.machine
        self.arrays, self.max_blocks = team.arrays, team.limits.max_blocks
        self.buffer_bytes = machine.rng.choice((32, 64, 256))
        slots = team.n * self.max_blocks
        nbytes = slots * 2 * self.buffer_bytes
        self.workspaces = [allocated(machine, nbytes, nbytes, SPARE * slots, slots, 2 * slots) for _ in range(2)]

    def call(self, form: Form, rng: Random, number: int) -> list[list[Launch]]:
        """One exchange of every PE that has a partner (of every PE, where the form needs all PEs)."""
        n, arrays = self.machine.n_pes, self.arrays
        partner = list(range(n))
        pes = rng.sample(range(n), n)
        for one, other in zip(pes[::2], pes[1::2], strict=False):
            partner[one], partner[other] = other, one
        streams: list[list[Launch]] = [[] for _ in range(n)]
        nbytes = [1 + int(rng.random() ** 2 * MOST_BYTES)] * n if form.collective else [0] * n
        for pe in range(n):
            if not form.collective:
                nbytes[pe] = nbytes[partner[pe]] or 1 + int(rng.random() ** 2 * MOST_BYTES)
        data = [values(rng, 1, size, "byte")[0] for size in nbytes]
        for pe in range(n):
            if partner[pe] == pe and not form.collective:
                continue
            recv, send = arrays.draw(rng, 2)
            recv = send if rng.random() < 0.5 else recv
            held = Held()
            held.give(send, 0, data[pe])
            held.expect(recv, 0, data[partner[pe]])
            what = f"call {number} (exchange {form.name}, {nbytes[pe]} bytes with {partner[pe]})"
            blocks = max(1, min(self.max_blocks, -(-nbytes[pe] // self.buffer_bytes)))
            call = {"ctx": pe, "me": pe, "n_pes": n, "dst": recv, "src": send, "nbytes": nbytes[pe], "peer": partner[pe]}
            call |= {"max_blocks": self.max_blocks, "buffer_bytes": self.buffer_bytes}
            call |= self.workspaces[form.collective] | {"tag": tagged(f"{form.name} {nbytes[pe]}")}
            launch = prepared(what, form.kernel, blocks, "byte", call)
            launch.begin, launch.end = held.begin(arrays, pe), held.end(arrays, pe)
            streams[pe].append(launch)
        return streams


def quiet(pe: int) -> None:
    """The host's work in the stream before a barrier: wait until all that the PE has sent is there."""
    block: Any = getcurrent()
    block.network.quiet(block)


class OneSided:
    """put, get and put_signal, each between barriers; a source is overwritten when its call is over."""

    def __init__(self, team: Team):
        machine = self.machine = team.machine
        self.arrays, self.max_blocks = team.arrays, team.limits.max_blocks
        first = machine.rng.choice(FIRST_EPOCHS)
        self.signals, self.epochs = words(machine, SPARE * machine.n_pes, first), words(machine, SPARE, first)
        self.word, self.counter = words(machine, 1, 0), words(machine, 8, 0)
        self.to, self.into = (machine.memory.allocate(MOST_BYTES, plain=plain) for plain in (False, True))
        room_bytes = machine.rng.choice((32, 64, 256))
        staging = machine.memory.allocate(self.max_blocks * room_bytes)
        self.staging = {"staging": staging, "locks": words(machine, self.max_blocks, 0), "room_bytes": room_bytes}
        self.round = 0

    def call(self, name: str, rng: Random, number: int) -> list[list[Launch]]:
        """One call of every PE; its peer's number is larger by ``shift``."""
        n, network, arrays = self.machine.n_pes, self.machine.network, self.arrays
        nbytes, shift, what = 1 + int(rng.random() * MOST_BYTES), rng.randrange(n), f"call {number} ({name})"
        data = values(rng, n, nbytes, "byte")
        everywhere = rng.choice(arrays.symmetric)
        sources = [everywhere if name == "get" else arrays.draw(rng, 1)[0] for _ in range(n)]
        dst = self.into if name == "get" and rng.random() < 0.5 else self.to
        self.round += 1
        streams = []
        for pe in range(n):
            to, source = (pe + shift) % n, (pe - shift) % n
            gives = Held()
            gives.give(sources[pe], 0, data[pe])
            begin, end = gives.begin(self.arrays, pe), gives.end(self.arrays, pe)
            wanted = data[to if name == "get" else source]
            checked = Launch(f"{what}, check", lambda: None, end=self._check(pe, dst, wanted))
            blocks = rng.randint(1, self.max_blocks)
            common = {"ctx": pe, "src": sources[pe], "dst": dst, "nbytes": nbytes, "peer": to}
            own = dst if name == "get" else sources[pe]
            by_room = self.machine.memory.is_plain(pe, own) and not network.by_pointer(pe, to)
            if name == "get":
                given = Launch(f"{what}, given", lambda: None, begin=begin)
                kernel = rma.get_by_staging if by_room else rma.get_bytes
                got = prepared(what, kernel, blocks, "byte", common | self.staging | {"counter": 0})
                streams.append([given, *self._barrier(pe), got, checked, *self._barrier(pe)])
                streams[-1][-1].end = end
                continue
            signalled = {"signal_word": self.word, "value": self.round, "counter": self.counter + 8 * (self.round % 8)}
            if name == "put":
                kernel = rma.put_by_staging if by_room else rma.put_bytes
                one = prepared(what, kernel, blocks, "byte", common | self.staging | signalled | {"signal_word": 0})
                stream = [one, *self._barrier(pe), checked]
            else:
                blocks = blocks if by_room or network.by_pointer(pe, to) else 1
                kernel = rma.put_by_staging if by_room else rma.put_bytes_signal
                one = prepared(what, kernel, blocks, "byte", common | self.staging | signalled)
                awaited = {"ctx": pe, "signal_word": self.word, "value": self.round, "source": source}
                waited = prepared(f"{what}, wait", rma.wait_signal, 1, "byte", awaited)
                stream = [one, waited, checked]
            one.begin, one.end = begin, end
            streams.append([*stream, *self._barrier(pe)])
        return streams

    def _barrier(self, pe: int) -> list[Launch]:
        known = {"ctx": pe, "me": pe, "n_pes": self.machine.n_pes, "signals": self.signals, "epochs": self.epochs}
        return [Launch("quiet", quiet, (pe,)), prepared("barrier", rma.barrier, 1, "byte", known)]

    def _check(self, pe: int, at: int, data: np.ndarray) -> Callable[[], None]:
        found = self.machine.memory.bytes[pe][at : at + len(data)]

        def at_once() -> None:
            must_be(found, data)
            found[:] = 0

        return at_once
