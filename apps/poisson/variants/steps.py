"""What every variant does: a round of iterations, of which it says how halos travel and how sums are made.

Read first: ../kernels.py, then ../sums.py and ../fields.py.
"""

from typing import Any

from ...program.device import multiprocessors
from ..fields import Fields
from ..kernels import advance_of, inner, residual, turn_of
from ..preconditioners import TABLE
from ..problem import Problem
from ..records import PAP, RR, RZ, Directions, Part, Scalars, Solution, Stride, Tiles
from ..sums import NOW, Sums, floats
from ..tiles import by_pairs, by_rows, stride_of

MOST_BLOCKS, MOST_THREADS = 132 * 8, 256  # of kernels that take rows
TILE_THREADS, RESIDENT = 256, 2  # threads of a tile, and tiles that a multiprocessor works at


class Steps:
    """Base of the variants.  All methods are collective.

    An iteration is two kernels: ``turn`` makes the direction p and the sum p * A p, ``advance`` changes u and r and sums
    r * r.  The halo of r, or of the preconditioned z, travels between them; that of p is computed from it.
    """

    def __init__(self, team: Any, problem: Problem):
        self.team, self.problem = team, problem
        kind = TABLE[problem.preconditioner]
        self.grid = team.grid(problem.shape, dims=self.dims(team, problem), periodic=problem.periodic, halo=1)
        self.fields = Fields(team, problem, self.grid, kind.own_field)
        self.sums, self.stream = Sums(team, problem.check), team.stream()
        self._kernels: list[Any] = []
        self.tiles = self.cut(self.fields.part, RESIDENT)
        self.stride = Stride(*(problem.item_bytes,) * 3)  # a CPU's thread takes no pairs: one kernel for all parts
        if team.backend == "cuda":
            self.stride = stride_of(self.fields.part, problem.item_bytes)
        self._inner, self._residual = map(self.kernel, (inner, residual))
        self._turn, self._advance = (
            self.kernel(one(self.stride), TILE_THREADS, RESIDENT) for one in (turn_of, advance_of)
        )
        self.preconditioner = kind(self, problem)
        self.prepare()
        team.compile(self._kernels)
        self.parity = 0  # which of the two directions is the newest

    @classmethod
    def refuse(cls, team: Any, problem: Problem) -> str:
        """Why the variant can't solve this problem on this team; "" if it can."""
        return ""

    @classmethod
    def dims(cls, team: Any, problem: Problem) -> tuple[int, ...] | None:
        """PEs by dimension; None: as the library chooses."""
        return None

    def cut(self, part: Part, resident: int) -> Tiles:
        """The tiles of a launch of at most ``resident`` blocks on each multiprocessor."""
        if self.team.backend == "host":
            return by_rows(part)
        return by_pairs(part, TILE_THREADS, resident * multiprocessors(self.team))

    def prepare(self) -> None:
        """Prepare ``exchange`` and ``add_up``."""

    def exchange(self, name: str) -> None:
        """Bring the neighbours' points of a field to its halo; of "d", those across edges and corners too."""
        raise NotImplementedError

    def add_up(self, slot: int, first: int, last: int) -> None:
        """totals = words over the PEs, for the sums first..last of a slot."""
        raise NotImplementedError

    def sum_fields(self, mine: Any, total: Any) -> None:
        """total = mine over the PEs, two symmetric arrays, where all but one PE have a 0 at each point."""
        raise NotImplementedError

    def kernel(self, function: Any, most_threads: int = MOST_THREADS, resident: int = 1) -> Any:
        """A kernel for the fields, which is compiled when all are known: each PE of a node compiles some of them."""
        made = self.team.kernel(function, self.problem.dtype, most_threads=most_threads, resident=resident)
        self._kernels.append(made)
        return made

    def launch(self, kernel: Any, *args: Any) -> None:
        """Enqueue a kernel over this PE's part, in the order of the stream."""
        self.launch_on(self.fields.part, kernel, *args)

    def launch_tiles(self, kernel: Any, *args: Any) -> None:
        """Enqueue a kernel over the tiles of this PE's part."""
        tiles = self.tiles
        kernel(tiles.blocks, self.fields.part, *args, tiles, stream=self.stream, threads=TILE_THREADS)

    def launch_on(self, part: Part, kernel: Any, *args: Any) -> None:
        """Enqueue a kernel over another part."""
        blocks = min(MOST_BLOCKS, part.nx * part.ny) if self.team.backend == "cuda" else 1
        threads = min(MOST_THREADS, -(-part.nz // 32) * 32)
        kernel(blocks, part, *args, stream=self.stream, threads=threads)

    def start(self) -> None:
        """r = f - A u, and forget the directions."""
        self.sums.restart(self.stream)
        self.replace()

    def replace(self) -> None:
        """r = f - A u; the directions go on."""
        fields = self.fields
        self.exchange("u")
        self.launch(self._residual, fields["r"], fields["f"], fields["u"])
        self.launch(self._inner, fields["r"], fields["r"], self.sums.addresses(NOW)[1] + RR)
        self.precondition(NOW)

    def newest(self) -> str:
        """The field of the newest directions."""
        return "odd" if self.parity else "even"

    def resume(self) -> None:
        """Go on from u, r and the newest directions, in "even", which were set at this PE's own points."""
        one, self.parity = self.preconditioner, 0
        self.exchange("even")
        if one.own_field:
            one.apply()
        self.exchange(one.of_field)

    def precondition(self, slot: int) -> None:
        """Sum r * r, and make what the next directions are made of; its halo is on its way."""
        one = self.preconditioner
        if one.own_field:
            one.apply()
            self.launch(self._inner, self.fields["r"], self.fields["z"], self.sums.addresses(slot)[1] + RZ)
        self.add_up(slot, RR, one.rz)
        self.exchange(one.of_field)

    def round(self) -> None:
        """``check`` iterations."""
        for k in range(self.problem.check):
            self.iteration(NOW + k)

    def iteration(self, slot: int) -> None:
        """One iteration, whose sums are in a slot."""
        one, fields = self.preconditioner, self.fields
        newest, older = ("odd", "even") if self.parity == 0 else ("even", "odd")
        self.parity = 1 - self.parity
        scalars = Scalars(*self.sums.addresses(slot), one.rz, one.weight)
        self.launch_tiles(self._turn, Directions(*map(fields.at, (newest, older, one.of_field))), scalars)
        self.add_up(slot, PAP, PAP)
        self.launch_tiles(self._advance, Solution(*map(fields.at, ("u", "r", newest))), scalars)
        self.precondition(slot + 1)

    def product(self, a: str, b: str) -> float:
        """The sum of the products of two fields, of any kind but while a round is under way."""
        with self.stream:
            self.sums.words[0] = 0
        self.launch(self._inner, self.fields[a], self.fields[b], self.sums.addresses(0)[1])
        self.add_up(0, PAP, PAP)
        self.sums.readback.start(self.stream)
        return float(floats(self.sums.readback.wait()[0, :1])[0])

    def finish(self) -> None:
        """Wait until everything that was enqueued has run, here and where peers write."""
        self.team.barrier(stream=self.stream)
        self.team.synchronize(self.stream)

    def free(self) -> None:
        """Free all symmetric memory."""
        self.finish()
        self.preconditioner.free()
        self.fields.free()
        self.sums.free()
