"""One run: every size, every contestant, out of place and in place."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays.dtypes import DType
from ..team import Team
from .cases import Case
from .contestant import Call, Contestant
from .memory import array_module
from .pattern import Pattern
from .result import Row
from .timing import Effort, Times, on_device, on_host

POISON = 0xA5  # bytes of the target before a result is checked


@dataclass(frozen=True)
class Options:
    """What one run measures.

    check: compare the result of one call with the exact one;  in_place, out_of_place: which forms
    graph: in a CUDA graph (else launched one by one)
    """

    root: int = 0
    effort: Effort = Effort()
    graph: bool = True
    check: bool = True
    out_of_place: bool = True
    in_place: bool = True


class Run:
    """A case, a dtype and an op on one team, for many sizes and contestants."""

    def __init__(self, team: Team, case: Case, dtype: DType, op: str, options: Options, seed: int):
        self._team, self._case, self.dtype, self._op, self._options = team, case, dtype, op, options
        self._stream = team.stream() if team.backend == "cuda" else None
        self._xp, self._seed = array_module(team), seed
        self._patterns: dict[Any, Pattern] = {}

    def measure(self, contestants: Sequence[Contestant], nbytes: int, in_place: bool) -> list[Row | None]:
        """A row for each contestant, None where there is no such form or no element.  Collective."""
        options = self._options
        block = self._case.block(nbytes, self.dtype.item_bytes, self._team.n_pes)
        wanted = options.in_place if in_place else options.out_of_place
        if not wanted or block == 0 or (in_place and not self._case.in_place):
            return [None for _ in contestants]
        ready = {one.name: self._ready(one, block, in_place) for one in contestants if one.has(self._case, in_place)}
        on_the_host = [one.name for one in contestants if one.name in ready and not one.on_device]
        alike = on_host(self._team, [ready[name][0] for name in on_the_host], options.effort) if on_the_host else []
        times = dict(zip(on_the_host, alike, strict=True))
        rows: list[Row | None] = []
        for one in contestants:
            if one.name not in ready:
                rows.append(None)
                continue
            call, source, target = ready[one.name]
            took = times.get(one.name) or on_device(self._team, call, self._stream, options.effort, options.graph)
            wrong = self._wrong(one, call, source, target, block) if options.check else 0
            rows.append(self._row(one, block, in_place, took, wrong))
        return rows

    def _ready(self, contestant: Contestant, block: int, in_place: bool) -> tuple[Call, Any, Any]:
        """(call, source, target), the source filled."""
        source, target = self.buffers(contestant, block, in_place)
        self._pattern(contestant).fill(source, self._team.me)
        self._settle()
        return contestant.call(self._case, source, target, self._op, self._options.root), source, target

    def buffers(self, contestant: Contestant, block: int, in_place: bool) -> tuple[Any, Any]:
        """(source, target) for one block size, as views of the contestant's memory."""
        case, n_pes, item = self._case, self._team.n_pes, self.dtype.item_bytes
        n_source, n_target = case.elements(block, n_pes)
        memory = contestant.memory
        source = memory.source[: n_source * item].view(self.dtype.numpy)
        target = memory.target[: n_target * item].view(self.dtype.numpy)
        own = slice(self._team.me * block, (self._team.me + 1) * block)
        if in_place:
            match case.in_place:
                case "same":
                    target = source
                case "source in target":
                    source = target[own]
                case "target in source":
                    target = source[own]
        return source, target

    def _pattern(self, contestant: Contestant) -> Pattern:
        xp = self._xp if contestant.on_device else np
        if xp not in self._patterns:
            self._patterns[xp] = Pattern(xp, self.dtype, self._op or "sum", self._team.n_pes, self._seed)
        return self._patterns[xp]

    def _wrong(self, contestant: Contestant, call: Call, source: Any, target: Any, block: int) -> int:
        """Wrong elements of all PEs after one call on fresh data.  Collective."""
        team, pattern = self._team, self._pattern(contestant)
        target.view("uint8").fill(POISON)
        pattern.fill(source, team.me)
        self._settle()
        stream = self._stream if contestant.on_device else None
        call(stream)
        team.quiet(stream)
        self._settle()
        wrong, at = 0, 0
        for row, first, count in self._case.expected(team.me, team.n_pes, block, self._options.root):
            wrong += pattern.wrong(target[at : at + count], row, first)
            at += count
        return int(team.comm.allreduce(wrong))

    def _settle(self) -> None:
        """Everything on every PE is done."""
        self._team.synchronize()
        self._team.comm.Barrier()

    def _row(self, contestant: Contestant, block: int, in_place: bool, times: Times, wrong: int) -> Row:
        size = max(self._case.elements(block, self._team.n_pes)) * self.dtype.item_bytes
        algbw = size / times.median_us / 1e3
        return Row(
            collective=self._case.name,
            contestant=contestant.name,
            dtype=self.dtype.name,
            op=self._op,
            size_bytes=size,
            count=block,
            in_place=in_place,
            mode=times.mode,
            median_us=times.median_us,
            p99_us=times.p99_us,
            least_us=times.least_us,
            algbw=algbw,
            busbw=algbw * self._case.bus(self._team.n_pes),
            wrong=wrong,
        )
