"""Measurements of a case: every implementation, size, dtype and op, out of place and in place."""

import secrets
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..arrays.dtypes import DType
from ..team import Team
from . import columns
from .cases import Case
from .implementation import Call, Implementation
from .pattern import Pattern
from .result import Result, Row
from .timing import Effort, Times, host_cost_us, on_device, on_host

FILL_BYTE = 0xA5  # byte of the target before a call whose result is checked


class Options(NamedTuple):
    """The options of a run.

    root:  root of rooted collectives;  graph: calls run in a CUDA graph, else each call is launched
    check: the result of a call is compared with the exact result;  forms: out of place (False), in place (True)
    """

    root: int = 0
    effort: Effort = Effort()
    graph: bool = True
    check: bool = True
    forms: Sequence[bool] = (False, True)


class Prepared(NamedTuple):
    """A call of an implementation, and the parts of its memory that the call reads and writes."""

    call: Call
    source: Any
    target: Any


class Run:
    """A case, a dtype and an op on a team.  seed: seed of the data, the same on every PE"""

    def __init__(self, team: Team, case: Case, dtype: DType, op: str, options: Options, seed: int):
        self._team, self._case, self.dtype, self._op, self._options = team, case, dtype, op, options
        self._stream = team.stream() if team.backend == "cuda" else None
        self._pattern = Pattern(dtype, op or "sum", team.n_pes, seed)

    def measure(self, implementations: Sequence[Implementation], nbytes: int, in_place: bool) -> dict[str, Row]:
        """{implementation: row} for implementations with this form; {} if the size holds no element.  Collective."""
        options, case, team = self._options, self._case, self._team
        block_elems = case.block_elems(nbytes, self.dtype.item_bytes, team.n_pes)
        if not block_elems or (in_place and not case.in_place):
            return {}
        able = [implementation for implementation in implementations if implementation.has(case, in_place)]
        prepared = {implementation.name: self._prepare(implementation, block_elems, in_place) for implementation in able}
        blocking = [implementation.name for implementation in able if not implementation.on_device]
        times = dict(zip(blocking, on_host(team, [prepared[k].call for k in blocking], options.effort), strict=True))
        rows = {}
        for implementation in able:
            name = implementation.name
            call = prepared[name].call
            took = times.get(name) or on_device(team, call, self._stream, options.effort, options.graph)
            wrong = self._count_wrong(implementation, prepared[name], block_elems) if options.check else 0
            rows[name] = self._row(implementation, block_elems, in_place, took, wrong)
        return rows

    def host_cost_us(self, implementation: Implementation, nbytes: int) -> float:
        """Host time of an asynchronous call that is not in a graph, in us.  Collective."""
        block_elems = max(1, self._case.block_elems(nbytes, self.dtype.item_bytes, self._team.n_pes))
        prepared = self._prepare(implementation, block_elems, not implementation.has(self._case, False))
        return host_cost_us(self._team, prepared.call, self._stream)

    def _prepare(self, implementation: Implementation, block_elems: int, in_place: bool) -> Prepared:
        """The call, with a filled source.  Collective."""
        case, team, item_bytes = self._case, self._team, self.dtype.item_bytes
        elems = case.buffer_elems(block_elems, team.n_pes)
        buffers = zip(implementation.memory, elems, strict=True)
        source, target = (x[: n * item_bytes].view(self.dtype.numpy) for x, n in buffers)
        if in_place:
            own = slice(team.me * block_elems, (team.me + 1) * block_elems)
            source, target = {
                "same": (source, source),
                "source in target": (target[own], target),
                "target in source": (source, source[own]),
            }[case.in_place]
        self._fill(source)
        call = implementation.call(case, source, target, self._op, self._options.root)
        return Prepared(call, source, target)

    def _fill(self, source: Any) -> None:
        """Fill a source, and wait until all work on every PE has ended.  Collective."""
        self._pattern.fill(source, self._team.me)
        self._team.synchronize()
        self._team.comm.Barrier()

    def _count_wrong(self, implementation: Implementation, prepared: Prepared, block_elems: int) -> int:
        """Number of wrong elements, on all PEs, after a call on new data.  Collective."""
        team, stream = self._team, self._stream if implementation.on_device else None
        prepared.target.view("uint8").fill(FILL_BYTE)
        self._fill(prepared.source)
        prepared.call(stream)
        team.quiet(stream)
        team.synchronize()
        team.comm.Barrier()
        wrong, start = 0, 0
        for row, first, count in self._case.expected(team.me, team.n_pes, block_elems, self._options.root):
            wrong += self._pattern.count_wrong(prepared.target[start : start + count], row, first)
            start += count
        return int(team.comm.allreduce(wrong))

    def _row(self, implementation: Implementation, block_elems: int, in_place: bool, times: Times, wrong: int) -> Row:
        case, n_pes = self._case, self._team.n_pes
        size_bytes = max(case.buffer_elems(block_elems, n_pes)) * self.dtype.item_bytes
        algbw = size_bytes / times.median_us / 1e3
        us = (times.median_us, times.p99_us, times.least_us)
        what = (case.name, implementation.name, self.dtype.name, self._op, size_bytes, block_elems, in_place, times.mode)
        return Row(*what, *us, algbw, algbw * case.bus(n_pes), wrong)


def measure_all(
    team: Team, case: Case, implementations: Sequence[Implementation], sizes: Sequence[int],
    kinds: Sequence[tuple[DType, str]], options: Options, result: Result,
) -> Iterator[str]:  # fmt: skip
    """Fill ``result``; yield a line for every implementation and size as soon as it is measured.  Collective.

    sizes: in bytes;  kinds: dtypes and ops, "" for a case without an op
    """
    seed = result.facts["seed"] = team.gather(secrets.randbits(48))[0]
    width = max(len(implementation.name) for implementation in implementations)
    yield "\n".join([f"# {name}: {value}" for name, value in result.facts.items()])
    yield columns.head(width)
    for dtype, op in kinds:
        run = Run(team, case, dtype, op, options, seed)
        reasons = {implementation.name: implementation.why_not(case, dtype, op) for implementation in implementations}
        result.refused |= {name: why for name, why in reasons.items() if why}
        able = [implementation for implementation in implementations if not reasons[implementation.name]]
        for nbytes in sizes:
            rows_of = [run.measure(able, nbytes, form) if form in options.forms else {} for form in (False, True)]
            for name in rows_of[0] | rows_of[1]:
                rows = rows_of[0].get(name), rows_of[1].get(name)
                result.rows += filter(None, rows)
                yield columns.line(*rows, width)
        if not result.host_us and team.backend == "cuda":
            asynchronous = [implementation for implementation in able if implementation.on_device]
            result.host_us = {x.name: run.host_cost_us(x, sizes[0]) for x in asynchronous}
