"""Kernels, exchanges of halos and AllReduces on one stream: what every variant computes, and how this one enqueues it.

Read ../kernels.py, ../sums.py and ../fields.py first.
"""

from typing import Any

from ...program.device import multiprocessors
from ..fields import Fields
from ..kernels import advance_of, inner, residual, turn_of
from ..problem import Problem
from ..records import PAP, RR, Directions, Part, Scalars, Solution, Tiles
from ..sums import NOW, Sums, floats
from ..tiles import by_pairs, by_rows

MOST_BLOCKS, MOST_THREADS = 132 * 8, 256  # of kernels that take rows
TILE_THREADS, RESIDENT = 256, 2  # threads of a tile, and tiles that a multiprocessor works at


class Stream:
    """All methods are collective.

    An iteration is two kernels: ``turn`` makes the direction p and the sum p * A p, ``advance`` changes u and r and sums
    r * r.  The halo of r travels between them; that of p is computed from it.
    """

    sentence = "plans of this library on a stream"

    def __init__(self, team: Any, problem: Problem):
        self.team, self.problem = team, problem
        self.grid = team.grid(problem.shape, dims=self.dims(problem), periodic=problem.periodic, halo=1)
        self.fields = Fields(team, problem, self.grid)
        self.sums, self.stream = Sums(team, problem.check), team.stream()
        self._kernels: list[Any] = []
        self.tiles = self._cut(self.fields.part)
        self._inner = self.kernel(inner)
        self._residual = self.kernel(residual)
        self._turn, self._advance = self.of_tiles(turn_of), self.of_tiles(advance_of)
        self.prepare()
        team.compile(self._kernels)
        self.parity = 0  # which of the two directions is the newest

    @classmethod
    def why_not(cls, team: Any) -> str:
        """Why the variant can't run on this team; "" if it can."""
        return ""

    @classmethod
    def dims(cls, problem: Problem) -> tuple[int, ...] | None:
        """PEs by dimension; None: as the library chooses."""
        return None

    def _cut(self, part: Part) -> Tiles:
        if self.team.backend == "host":
            return by_rows(part)
        return by_pairs(part, TILE_THREADS, RESIDENT * multiprocessors(self.team))

    def prepare(self) -> None:
        """Plan the exchanges of halos and the AllReduces, one for each slot of the sums."""
        self._exchanges = {name: self.grid.plan_exchange(self.fields[name]) for name in ("u", "r")}
        self._add_up = {}
        for slot in range(self.problem.check + NOW + 1):
            for which in (PAP, RR):
                words, totals = self.sums.part(slot, which)
                self._add_up[slot, which] = self.team.plan_allreduce(words, totals, op="sum")

    def kernel(self, function: Any, most_threads: int = MOST_THREADS, resident: int = 1) -> Any:
        """A kernel for the fields, which is compiled when all are known: each PE of a node compiles some of them."""
        made = self.team.kernel(function, self.problem.dtype, most_threads=most_threads, resident=resident)
        self._kernels.append(made)
        return made

    def of_tiles(self, text: Any) -> Any:
        """The kernel of tiles whose text, made for the size of an element, ``text`` returns."""
        return self.kernel(text(self.problem.item_bytes), TILE_THREADS, RESIDENT)

    def _launch(self, kernel: Any, *args: Any) -> None:
        """Enqueue a kernel that takes rows."""
        part = self.fields.part
        blocks = min(MOST_BLOCKS, part.nx * part.ny) if self.team.backend == "cuda" else 1
        threads = min(MOST_THREADS, -(-part.nz // 32) * 32)
        kernel(blocks, part, *args, stream=self.stream, threads=threads)

    def _launch_tiles(self, kernel: Any, *args: Any) -> None:
        """Enqueue a kernel that takes tiles."""
        tiles = self.tiles
        kernel(tiles.blocks, self.fields.part, *args, tiles, stream=self.stream, threads=TILE_THREADS)

    def _finish_residual(self, slot: int) -> None:
        """Sum r * r over the PEs, and bring the neighbours' points of r to its halo."""
        self._add_up[slot, RR](stream=self.stream)
        self._exchanges["r"](stream=self.stream)

    def start(self) -> None:
        """r = f - A u, and forget the directions."""
        self.sums.restart(self.stream)
        self.replace()

    def replace(self) -> None:
        """r = f - A u; the directions go on."""
        fields = self.fields
        self._exchanges["u"](stream=self.stream)
        self._launch(self._residual, fields["r"], fields["f"], fields["u"])
        self._launch(self._inner, fields["r"], fields["r"], self.sums.addresses(NOW)[1] + RR)
        self._finish_residual(NOW)

    def round(self) -> None:
        """``check`` iterations."""
        for k in range(self.problem.check):
            self._iterate(NOW + k)

    def _iterate(self, slot: int) -> None:
        """One iteration, whose sums are in a slot."""
        at = self.fields.at
        newest, older = ("odd", "even") if self.parity == 0 else ("even", "odd")
        self.parity = 1 - self.parity
        scalars = Scalars(*self.sums.addresses(slot))
        self._launch_tiles(self._turn, Directions(at(newest), at(older), at("r")), scalars)
        self._add_up[slot, PAP](stream=self.stream)
        self._launch_tiles(self._advance, Solution(at("u"), at("r"), at(newest)), scalars)
        self._finish_residual(slot + 1)

    def product(self, a: str, b: str) -> float:
        """The sum of the products of two fields, at any time but while a round is under way."""
        with self.stream:
            self.sums.words[0] = 0
        self._launch(self._inner, self.fields[a], self.fields[b], self.sums.addresses(0)[1] + PAP)
        self._add_up[0, PAP](stream=self.stream)
        self.sums.readback.start(self.stream)
        return float(floats(self.sums.readback.wait()[0, :1])[0])

    def free(self) -> None:
        """Free all symmetric memory, when everything that was enqueued has run, here and where peers write."""
        self.team.barrier(stream=self.stream)
        self.team.synchronize(self.stream)
        self.fields.free()
        self.sums.free()
