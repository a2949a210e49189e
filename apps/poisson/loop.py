"""Kernels, exchanges of halos and AllReduces on one stream, in a loop that ends on the device.

Read kernels.py and memory.py first.
"""

from typing import Any

from pennympi.kernels.in_kernel import MAX_VALUES, WORDS_BYTES

from ..program.device import address, multiprocessors, to_numpy
from . import kernels
from .memory import Fields, Sums, floats
from .problem import Problem
from .records import Part, Tiles, Vectors

MOST_BLOCKS, MOST_THREADS, WARP = 132 * 8, 256, 32  # of kernels that work by rows
TILE_THREADS = 512  # of a tile; a multiprocessor runs one tile at a time
ACROSS, BEYOND = 2 * WARP, 2  # points of a tile along z; planes more that a tile reads: the cost of a cut along x
MOST_IN_BODY = 10  # iterations in a pass of the loop: a pass itself costs as much as one or two kernels


class Loop:
    """All methods are collective.

    An iteration is two kernels: ``update_direction`` sets the direction p and sums p * A p, ``update_solution`` updates
    u and r and sums r * r.  Only the halo of r is exchanged; the halo of p is computed from it.
    """

    sentence = "plans of this library on a stream, in a loop that ends on the device"
    methods: tuple[str, ...] = ("cg",)

    def __init__(self, team: Any, problem: Problem):
        self.team, self.problem = team, problem
        self.grid = team.grid(problem.shape, periodic=problem.periodic, halo=1)
        self.fields = Fields(team, problem, self.grid)
        self.sums, self.stream = Sums(team, problem), team.stream()
        self.vectors = Vectors(*map(self.fields.at, Vectors._fields))
        self._inner, self._residual = self.compiled(kernels.inner), self.compiled(kernels.residual)
        self.kernels = [self._inner, self._residual]
        self._exchanges = {name: self.grid.plan_exchange(self.fields[name]) for name in ("u", "r")}
        self.prepare()
        team.compile(self.kernels)

    @classmethod
    def why_not(cls, team: Any, problem: Problem) -> str:
        """Why the variant can't solve this on this team; "" if it can."""
        return ""

    def compiled(self, function: Any, threads: int = MOST_THREADS) -> Any:
        """A kernel of the fields' dtype."""
        return self.team.kernel(function, self.problem.dtype, most_threads=threads)

    def prepare(self) -> None:
        """Make what iterates."""
        self._loops: dict[tuple[int, float], Any] = {}
        self._tiles: tuple[Tiles, ...] = ()
        self._blocks, steps = 1, (kernels.update_direction, kernels.update_solution)
        if self.team.backend == "cuda":
            from .pairs import update_direction_of, update_solution_of  # needs numba-cuda

            steps = update_direction_of(self.problem.item_bytes), update_solution_of(self.problem.item_bytes)
            tiles, self._blocks = tiles_of(self.fields.part, multiprocessors(self.team))
            self._tiles = (tiles,)
        self._steps = [self.compiled(step, TILE_THREADS) for step in steps]
        self._note = self.team.kernel(kernels.note, "float64", most_threads=WARP)
        self.kernels += [*self._steps, self._note]

    def _launch(self, kernel: Any, *args: Any) -> None:
        """Enqueue a kernel that works by rows."""
        part = self.fields.part
        blocks = min(MOST_BLOCKS, part.nx * part.ny) if self.team.backend == "cuda" else 1
        kernel(blocks, part, *args, stream=self.stream, threads=min(MOST_THREADS, -(-part.nz // WARP) * WARP))

    def start(self) -> None:
        """r = f - A u, and new directions."""
        with self.stream:
            for array in (self.sums.runs, self.sums.history, self.sums.pap):
                array[...] = 0
        self.replace(0)

    def replace(self, done: int) -> None:
        """r = f - A u after ``done`` iterations; the direction is kept."""
        fields, sums = self.fields, self.sums
        self._exchanges["u"](stream=self.stream)
        self._launch(self._residual, fields["r"], fields["f"], fields["u"])
        self._add_products("r", "r", 1)
        with self.stream:
            sums.runs[1] = done
            sums.history[done + 1] = sums.totals[1]
            sums.words[...] = 0
        self._exchanges["r"](stream=self.stream)

    def iterate(self, most: int, below: float) -> None:
        """Enqueue ``most`` iterations, or up to the one whose r * r is at most ``below``."""
        if (most, below) not in self._loops:
            number = max(n for n in range(1, MOST_IN_BODY + 1) if most % n == 0)
            self._loops[most, below] = self.team.plan_loop(
                self._body(number, below), self.sums.value, below, most // number
            )
        self._loops[most, below](self.stream)

    def _body(self, number: int, below: float) -> Any:
        """The body of the loop: ``number`` iterations.  A PE that is alone counts them once, at the end."""
        sums, scalars, value, alone = self.sums, self.sums.scalars(below), address(self.sums.value), self.sums.alone
        totals = 0 if alone else address(sums.totals)
        given = self._blocks, self.fields.part, self.vectors, scalars

        def body(stream: Any) -> None:
            for k in range(number):
                ahead = k if alone else 0
                for which, step in enumerate(self._steps):
                    step(*given, ahead, *self._tiles, stream=stream, threads=TILE_THREADS)
                    sums.add_up(which, stream)
                self._exchanges["r"](stream=stream)
                if not alone or k == number - 1:
                    self._note(1, scalars, number if alone else 1, totals, value, stream=stream, threads=WARP)

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
        self._launch(self._inner, self.fields[a], self.fields[b], address(sums.words) + which * WORDS_BYTES)
        sums.add_up(which, self.stream)

    def product(self, a: str, b: str) -> float:
        """The sum of the products of two fields; a new start must follow."""
        self._add_products(a, b, 0)
        self.team.synchronize(self.stream)
        return float(floats(to_numpy(self.sums.totals[:1]))[0])

    def free(self) -> None:
        """Free all symmetric memory, after everything enqueued has run on this PE and on its peers."""
        self.team.barrier(stream=self.stream)
        self.team.synchronize(self.stream)
        self.fields.free()
        self.sums.free()


def tiles_of(part: Part, slots: int) -> tuple[Tiles, int]:
    """How a part is cut for a GPU that runs ``slots`` tiles at the same time, and the blocks of a launch."""
    rows = TILE_THREADS // WARP
    across, down = -(-part.nz // ACROSS), -(-part.ny // rows)
    most = MAX_VALUES // (ACROSS * rows)  # planes whose points may be added up before they become words

    def cost(planes: int) -> int:
        """The planes that a block reads."""
        return -(-across * down * -(-part.nx // planes) // slots) * (planes + BEYOND)

    planes = min(range(1, min(part.nx, most) + 1), key=cost)
    number = across * down * -(-part.nx // planes)
    return Tiles(across, down, planes, number), min(number, max(slots, -(-number // (most // planes))))
