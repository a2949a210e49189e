"""Kernels, exchanges of halos and AllReduces on one stream, in a loop that ends on the device.

Read kernels.py, sums.py and fields.py first.
"""

from typing import Any

from ..program.device import address, multiprocessors, to_numpy
from .fields import Fields
from .kernels import advance_of, inner, note, residual, turn_of
from .problem import Problem
from .records import PAP, RR, Part, Tiles, Vectors
from .sums import Sums, floats
from .tiles import by_pairs, by_rows

MOST_BLOCKS, MOST_THREADS, WARP = 132 * 8, 256, 32  # of kernels that take rows
TILE_THREADS, RESIDENT = 256, 2  # threads of a tile, and tiles that a multiprocessor works at
MOST_IN_TURN = 10  # iterations of a turn of the loop: a turn itself costs as much as one or two kernels


class Loop:
    """All methods are collective.

    An iteration is two kernels: ``turn`` makes the direction p and the sum p * A p, ``advance`` changes u and r and sums
    r * r.  The halo of r travels between them; that of p is computed from it.
    """

    sentence = "plans of this library on a stream, in a loop that ends on the device"
    methods: tuple[str, ...] = ("cg",)

    def __init__(self, team: Any, problem: Problem):
        self.team, self.problem = team, problem
        self.grid = team.grid(problem.shape, periodic=problem.periodic, halo=1)
        self.fields = Fields(team, problem, self.grid)
        self.sums, self.stream = Sums(team, problem), team.stream()
        self.vectors = Vectors(*map(self.fields.at, Vectors._fields))
        self.tiles = self._cut(self.fields.part)
        self._inner, self._residual = self._of_rows(inner), self._of_rows(residual)
        self.kernels = [self._inner, self._residual]
        self._exchanges = {name: self.grid.plan_exchange(self.fields[name]) for name in ("u", "r")}
        self.prepare()
        team.compile(self.kernels)

    @classmethod
    def why_not(cls, team: Any, problem: Problem) -> str:
        """Why the variant can't solve this on this team; "" if it can."""
        return ""

    def _cut(self, part: Part) -> Tiles:
        if self.team.backend == "host":
            return by_rows(part)
        return by_pairs(part, TILE_THREADS, RESIDENT * multiprocessors(self.team))

    def _of_rows(self, function: Any) -> Any:
        return self.team.kernel(function, self.problem.dtype, most_threads=MOST_THREADS)

    def of_tiles(self, text: Any) -> Any:
        """The kernel of tiles whose text, made for the size of an element, ``text`` returns."""
        made = text(self.problem.item_bytes)
        self.kernels.append(self.team.kernel(made, self.problem.dtype, most_threads=TILE_THREADS, resident=RESIDENT))
        return self.kernels[-1]

    def prepare(self) -> None:
        """Make what iterates."""
        self._turn, self._advance = self.of_tiles(turn_of), self.of_tiles(advance_of)
        self._note = self.team.kernel(note, "float64", most_threads=WARP)
        self.kernels.append(self._note)
        self._loops: dict[tuple[int, float], Any] = {}

    def _launch(self, kernel: Any, *args: Any) -> None:
        """Enqueue a kernel that takes rows."""
        part = self.fields.part
        blocks = min(MOST_BLOCKS, part.nx * part.ny) if self.team.backend == "cuda" else 1
        kernel(blocks, part, *args, stream=self.stream, threads=min(MOST_THREADS, -(-part.nz // WARP) * WARP))

    def launch_tiles(self, kernel: Any, stream: Any, *args: Any) -> None:
        """Enqueue a kernel that takes tiles."""
        tiles = self.tiles
        kernel(tiles.blocks, self.fields.part, self.vectors, *args, tiles, stream=stream, threads=TILE_THREADS)

    def start(self) -> None:
        """r = f - A u, and new directions."""
        with self.stream:
            self.sums.runs[...] = 0
            self.sums.history[:2] = 0
        self.replace(0)

    def replace(self, done: int) -> None:
        """r = f - A u, after so many iterations; the directions go on."""
        fields, sums = self.fields, self.sums
        self._exchanges["u"](stream=self.stream)
        self._launch(self._residual, fields["r"], fields["f"], fields["u"])
        self._add_products("r", "r", 1)
        with self.stream:
            sums.history[done + 1] = sums.totals[1]
            sums.words[...] = 0
        self._exchanges["r"](stream=self.stream)

    def iterate(self, most: int, below: float) -> None:
        """Enqueue ``most`` iterations, or up to the one whose r * r is at most ``below``."""
        if (most, below) not in self._loops:
            turn = max(n for n in range(1, MOST_IN_TURN + 1) if most % n == 0)
            self._loops[most, below] = self.team.plan_loop([self._body(below)] * turn, self.sums.value, below, most)
        self._loops[most, below](self.stream)

    def _body(self, below: float) -> Any:
        sums, scalars = self.sums, self.sums.scalars(below)

        def body(stream: Any) -> None:
            self.launch_tiles(self._turn, stream, scalars)
            sums.add_up(0, stream)
            self.launch_tiles(self._advance, stream, scalars)
            sums.add_up(1, stream)
            self._exchanges["r"](stream=stream)
            self._note(1, scalars, address(sums.value), stream=stream, threads=WARP)

        return body

    def done(self) -> int:
        """Wait for what is enqueued: how many iterations are done."""
        self.team.synchronize(self.stream)
        return int(self.sums.runs[0])

    def _add_products(self, a: str, b: str, which: int) -> None:
        """Add the products of two fields to a sum, and sum it over the PEs."""
        sums = self.sums
        with self.stream:
            sums.words[...] = 0
        self._launch(self._inner, self.fields[a], self.fields[b], address(sums.words) + (PAP, RR)[which])
        sums.add_up(which, self.stream)

    def product(self, a: str, b: str) -> float:
        """The sum of the products of two fields; a new start must follow."""
        self._add_products(a, b, 0)
        self.team.synchronize(self.stream)
        return float(floats(to_numpy(self.sums.totals[:1]))[0])

    def free(self) -> None:
        """Free all symmetric memory, when everything that was enqueued has run, here and where peers write."""
        self.team.barrier(stream=self.stream)
        self.team.synchronize(self.stream)
        self.fields.free()
        self.sums.free()
