"""Random exchanges, as the library launches them (``exchange.py``)."""

from random import Random

from pennympi.kernels.exchange import Form
from pennympi.kernels.packets import GROUP_DATA_BYTES
from pennympi.kernels.plans import packed_bytes
from pennympi.simulator.launches import Launch

from .arrays import Held, values
from .team import Team, allocated, prepared, tagged

MOST_BYTES = 4000
SPARE = 4  # words allocated for each slot or PE: more than the two that kernels use


class Exchanges:
    def __init__(self, team: Team):
        machine = self.machine = team.machine
        self.arrays, self.max_blocks = team.arrays, team.limits.max_blocks
        self.buffer_bytes = machine.rng.choice((512, 1024))
        slots = team.n * self.max_blocks
        nbytes = slots * 2 * self.buffer_bytes
        self.workspaces = [allocated(machine, nbytes, nbytes, SPARE * slots, slots, 2 * slots) for _ in range(3)]

    def call(self, form: Form, rng: Random, number: int) -> list[list[Launch]]:
        """One exchange of every PE that has a partner (of every PE, if the form is collective)."""
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
        piece_bytes = rng.randrange(GROUP_DATA_BYTES, packed_bytes(self.buffer_bytes) + 1, GROUP_DATA_BYTES)
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
            call |= {"max_blocks": self.max_blocks, "buffer_bytes": self.buffer_bytes, "piece_bytes": piece_bytes}
            call |= self.workspaces[2 if form.name == "packets" else form.collective] | {
                "tag": tagged(f"{form.name} {nbytes[pe]}")
            }
            launch = prepared(what, form.kernel, blocks, "byte", call)
            launch.begin, launch.end = held.begin(arrays, pe), held.end(arrays, pe)
            streams[pe].append(launch)
        return streams
