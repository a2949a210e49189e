"""Measurements of one case: every implementation, size, dtype and op, out of place and in place."""

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

FILL_BYTE = 0xA5  # of the target before a call whose result is checked


class Options(NamedTuple):
    """What a run measures.

    root:  of rooted collectives;  graph: calls run in a CUDA graph, else they are launched one by one
    check: compare the result of one call with the exact result;  forms: out of place (False), in place (True)
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
    """A case, a dtype and an op on one team.  seed: of the data, the same on every PE"""

    def __init__(self, team: Team, case: Case, dtype: DType, op: str, options: Options, seed: int):
        self._team, self._case, self.dtype, self._op, self._options = team, case, dtype, op, options
        self._stream = team.stream() if team.backend == "cuda" else None
        self._pattern = Pattern(dtype, op or "sum", team.n_pes, seed)

    def measure(self, implementations: Sequence[Implementation], nbytes: int, in_place: bool) -> dict[str, Row]:
        """{implementation: row} of those that have this form; {} if the size holds no element.  Collective."""
        options, case, team = self._options, self._case, self._team
        block_elems = case.block_elems(nbytes, self.dtype.item_bytes, team.n_pes)
        if not block_elems or (in_place and not case.in_place):
            return {}
        able = [one for one in implementations if one.has(case, in_place)]
        prepared = {one.name: self._prepare(one, block_elems, in_place) for one in able}
        blocking = [one.name for one in able if not one.on_device]
        times = dict(zip(blocking, on_host(team, [prepared[k].call for k in blocking], options.effort), strict=True))
        rows = {}
        for one in able:
            call = prepared[one.name].call
            took = times.get(one.name) or on_device(team, call, self._stream, options.effort, options.graph)
            wrong = self._count_wrong(one, prepared[one.name], block_elems) if options.check else 0
            rows[one.name] = self._row(one, block_elems, in_place, took, wrong)
        return rows

    def host_cost_us(self, one: Implementation, nbytes: int) -> float:
        """Host time of an asynchronous call that is not in a graph, in us.  Collective."""
        block_elems = max(1, self._case.block_elems(nbytes, self.dtype.item_bytes, self._team.n_pes))
        prepared = self._prepare(one, block_elems, not one.has(self._case, False))
        return host_cost_us(self._team, prepared.call, self._stream)

    def _prepare(self, one: Implementation, block_elems: int, in_place: bool) -> Prepared:
        """The call on a source that is filled.  Collective."""
        case, team, item_bytes = self._case, self._team, self.dtype.item_bytes
        elems = case.buffer_elems(block_elems, team.n_pes)
        source, target = (x[: n * item_bytes].view(self.dtype.numpy) for x, n in zip(one.memory, elems, strict=True))
        if in_place:
            own = slice(team.me * block_elems, (team.me + 1) * block_elems)
            source, target = {
                "same": (source, source),
                "source in target": (target[own], target),
                "target in source": (source, source[own]),
            }[case.in_place]
        self._fill(source)
        return Prepared(one.call(case, source, target, self._op, self._options.root), source, target)

    def _fill(self, source: Any) -> None:
        """Fill a source, and wait until all work on every PE is done.  Collective."""
        self._pattern.fill(source, self._team.me)
        self._team.synchronize()
        self._team.comm.Barrier()

    def _count_wrong(self, one: Implementation, prepared: Prepared, block_elems: int) -> int:
        """The number of wrong elements, on all PEs, after one call on fresh data.  Collective."""
        team, stream = self._team, self._stream if one.on_device else None
        prepared.target.view("uint8").fill(FILL_BYTE)
        self._fill(prepared.source)
        prepared.call(stream)
        team.quiet(stream)
        team.synchronize()
        team.comm.Barrier()
        wrong, at = 0, 0
        for row, first, count in self._case.expected(team.me, team.n_pes, block_elems, self._options.root):
            wrong += self._pattern.count_wrong(prepared.target[at : at + count], row, first)
            at += count
        return int(team.comm.allreduce(wrong))

    def _row(self, one: Implementation, block_elems: int, in_place: bool, times: Times, wrong: int) -> Row:
        case, n_pes = self._case, self._team.n_pes
        size_bytes = max(case.buffer_elems(block_elems, n_pes)) * self.dtype.item_bytes
        algbw = size_bytes / times.median_us / 1e3
        us = (times.median_us, times.p99_us, times.least_us)
        what = (case.name, one.name, self.dtype.name, self._op, size_bytes, block_elems, in_place, times.mode)
        return Row(*what, *us, algbw, algbw * case.bus(n_pes), wrong)


def measure_all(
    team: Team, case: Case, implementations: Sequence[Implementation], sizes: Sequence[int],
    kinds: Sequence[tuple[DType, str]], options: Options, result: Result,
) -> Iterator[str]:  # fmt: skip
    """Fill ``result``; yields a line for every implementation and size as soon as it is measured.  Collective.

    sizes: in bytes;  kinds: dtypes and ops, "" for a case without an op
    """
    seed = result.facts["seed"] = team.gather(secrets.randbits(48))[0]
    width = max(len(one.name) for one in implementations)
    yield "\n".join([f"# {name}: {value}" for name, value in result.facts.items()])
    yield columns.head(width)
    for dtype, op in kinds:
        run = Run(team, case, dtype, op, options, seed)
        reasons = {one.name: one.why_not(case, dtype, op) for one in implementations}
        result.refused |= {name: why for name, why in reasons.items() if why}
        able = [one for one in implementations if not reasons[one.name]]
        for nbytes in sizes:
            found = [run.measure(able, nbytes, form) if form in options.forms else {} for form in (False, True)]
            for name in found[0] | found[1]:
                rows = found[0].get(name), found[1].get(name)
                result.rows += filter(None, rows)
                yield columns.line(*rows, width)
        if not result.host_us and team.backend == "cuda":
            result.host_us = {one.name: run.host_cost_us(one, sizes[0]) for one in able if one.on_device}
