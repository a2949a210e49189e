"""Measurements of one case, dtype and op: every implementation and size, out of place and in place."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays.dtypes import DType
from ..team import Team
from .cases import Case
from .implementation import Call, Implementation
from .memory import array_module
from .pattern import Pattern
from .result import Row
from .timing import Effort, Times, on_device, on_host

FILL_BYTE = 0xA5  # of the target before a call whose result is checked


@dataclass(frozen=True)
class Options:
    """What a run measures.

    root:  of rooted collectives;  graph: calls run in a CUDA graph, else they are launched one by one
    check: compare the result of one call with the exact result
    out_of_place, in_place: which forms to measure
    """

    root: int = 0
    effort: Effort = Effort()
    graph: bool = True
    check: bool = True
    out_of_place: bool = True
    in_place: bool = True


class Run:
    """A case, a dtype and an op on one team.  seed: of the data, the same on every PE"""

    def __init__(self, team: Team, case: Case, dtype: DType, op: str, options: Options, seed: int):
        self._team, self._case, self.dtype, self._op, self._options = team, case, dtype, op, options
        self._stream = team.stream() if team.backend == "cuda" else None
        self._xp, self._seed = array_module(team), seed
        self._patterns: dict[Any, Pattern] = {}

    def measure(self, implementations: Sequence[Implementation], nbytes: int, in_place: bool) -> list[Row | None]:
        """A row for each implementation, None if it lacks this form or the size has no element.  Collective."""
        options = self._options
        block_elems = self._case.block_elems(nbytes, self.dtype.item_bytes, self._team.n_pes)
        wanted = options.in_place if in_place else options.out_of_place
        if not wanted or block_elems == 0 or (in_place and not self._case.in_place):
            return [None for _ in implementations]
        ready = {
            one.name: self._ready(one, block_elems, in_place) for one in implementations if one.has(self._case, in_place)
        }
        on_the_host = [one.name for one in implementations if one.name in ready and not one.on_device]
        alike = on_host(self._team, [ready[name][0] for name in on_the_host], options.effort) if on_the_host else []
        times = dict(zip(on_the_host, alike, strict=True))
        rows: list[Row | None] = []
        for one in implementations:
            if one.name not in ready:
                rows.append(None)
                continue
            call, source, target = ready[one.name]
            took = times.get(one.name) or on_device(self._team, call, self._stream, options.effort, options.graph)
            wrong = self._count_wrong(one, call, source, target, block_elems) if options.check else 0
            rows.append(self._row(one, block_elems, in_place, took, wrong))
        return rows

    def _ready(self, implementation: Implementation, block_elems: int, in_place: bool) -> tuple[Call, Any, Any]:
        """(call, source, target), with the source filled."""
        source, target = self.buffers(implementation, block_elems, in_place)
        self._pattern(implementation).fill(source, self._team.me)
        self._synchronize_all()
        return implementation.call(self._case, source, target, self._op, self._options.root), source, target

    def buffers(self, implementation: Implementation, block_elems: int, in_place: bool) -> tuple[Any, Any]:
        """(source, target) for one block size, as views of the implementation's memory, of the run's dtype."""
        case, item_bytes = self._case, self.dtype.item_bytes
        source_elems, target_elems = case.buffer_elems(block_elems, self._team.n_pes)
        memory = implementation.memory
        source = memory.source[: source_elems * item_bytes].view(self.dtype.numpy)
        target = memory.target[: target_elems * item_bytes].view(self.dtype.numpy)
        own = slice(self._team.me * block_elems, (self._team.me + 1) * block_elems)
        if in_place:
            match case.in_place:
                case "same":
                    target = source
                case "source in target":
                    source = target[own]
                case "target in source":
                    target = source[own]
        return source, target

    def _pattern(self, implementation: Implementation) -> Pattern:
        xp = self._xp if implementation.on_device else np
        if xp not in self._patterns:
            self._patterns[xp] = Pattern(xp, self.dtype, self._op or "sum", self._team.n_pes, self._seed)
        return self._patterns[xp]

    def _count_wrong(self, implementation: Implementation, call: Call, source: Any, target: Any, block_elems: int) -> int:
        """The number of wrong elements, on all PEs, after one call on fresh data.  Collective."""
        team, pattern = self._team, self._pattern(implementation)
        target.view("uint8").fill(FILL_BYTE)
        pattern.fill(source, team.me)
        self._synchronize_all()
        stream = self._stream if implementation.on_device else None
        call(stream)
        team.quiet(stream)
        self._synchronize_all()
        wrong, at = 0, 0
        for row, first, count in self._case.expected(team.me, team.n_pes, block_elems, self._options.root):
            wrong += pattern.count_wrong(target[at : at + count], row, first)
            at += count
        return int(team.comm.allreduce(wrong))

    def _synchronize_all(self) -> None:
        """Wait until all work on every PE is done.  Collective."""
        self._team.synchronize()
        self._team.comm.Barrier()

    def _row(self, implementation: Implementation, block_elems: int, in_place: bool, times: Times, wrong: int) -> Row:
        size_bytes = max(self._case.buffer_elems(block_elems, self._team.n_pes)) * self.dtype.item_bytes
        algbw = size_bytes / times.median_us / 1e3
        return Row(
            collective=self._case.name,
            implementation=implementation.name,
            dtype=self.dtype.name,
            op=self._op,
            size_bytes=size_bytes,
            count=block_elems,
            in_place=in_place,
            mode=times.mode,
            median_us=times.median_us,
            p99_us=times.p99_us,
            least_us=times.least_us,
            algbw=algbw,
            busbw=algbw * self._case.bus(self._team.n_pes),
            wrong=wrong,
        )
