"""The choice of an algorithm: the named algorithm, else the fastest by measured times, by cost, or by a rule of size."""

import copy
import os
from collections.abc import Mapping

from ..arrays.dtypes import DType, dtype_of
from ..backend import Backend
from ..errors import Unsupported
from ..job.job import Job
from ..kernels.algorithm import ROUND_ONCE, Algorithm, Limits, Plan, Topology
from ..kernels.allreduce import PLANNED, TABLE
from ..kernels.cost import Machine, Size
from ..settings import algorithm_for
from ..topology.between_nodes import Link, measure
from ..units import counted
from . import machine as machines
from .explanation import Explanation
from .find import find
from .table import Tuned

ALLREDUCE = "allreduce"
NEEDS_SHARED_OUT = "runs in plans whose out is the same symmetric array on every PE: see team.plan_allreduce"


def algorithm_named(name: str | Algorithm, table: Mapping[str, Algorithm]) -> Algorithm:
    """The algorithm of this name, or the algorithm itself.  Raises ValueError."""
    chosen = name if isinstance(name, Algorithm) else table.get(name)
    if chosen is None:
        raise ValueError(f"algorithm {name!r} is unknown: use auto, {', '.join(table)}")
    return chosen


def check_runs(chosen: Algorithm, reason: str | None) -> None:
    """Raise Unsupported if there is a reason why the algorithm cannot run."""
    if reason:
        raise Unsupported(f"{chosen.name} can't run here: {reason}; use algorithm='auto'")


class Selection:
    """The choice of AllReduce algorithms for a team.

    topology: topology of the team;  limits: limits of its launches
    machine:  constants of the costs;  tuned: table of measured times, or None
    device:   name of the PEs' device
    """

    def __init__(self, topology: Topology, limits: Limits, machine: Machine, tuned: Tuned | None, device: str):
        self._topology, self._limits, self.machine, self.tuned, self.device = topology, limits, machine, tuned, device
        self._canonical = False

    def canonical(self) -> "Selection":
        """A selection among the algorithms that add in the order of the PEs and round once."""
        selection = copy.copy(self)
        selection._canonical = True
        return selection

    def choose(
        self, name: str | Algorithm, nbytes: int, dtype: str, op: str, residual: bool = False, shared_out: bool = False
    ) -> Algorithm:
        """The algorithm to run for a vector of ``nbytes`` bytes.

        name:       name of an algorithm, or "auto"; or an algorithm, whose plan may have been changed
        residual:   True if the algorithm has to add a residual
        shared_out: True for a plan whose ``out`` is the same symmetric array on every PE: peers may write it
        Raises ValueError for an unknown name, Unsupported if the algorithm cannot run here.
        """
        if name == "auto":
            name = algorithm_for(ALLREDUCE)
        one_node = self._topology.n_pes > 1 and self._topology.ll128_safe and self._topology.n_nodes == 1
        if name == "auto" and shared_out and one_node:
            name = next((chosen for chosen, least in self.machine.shared_out.items() if nbytes >= least), name)
        if name == "auto":
            name = self._best(nbytes, dtype_of(dtype), op, residual)[0]
        if name in PLANNED and not shared_out:
            raise Unsupported(f"{name} {NEEDS_SHARED_OUT}")
        chosen = algorithm_named(name, TABLE | PLANNED if shared_out else TABLE)
        check_runs(chosen, self._refusal(chosen, dtype, op, residual))
        if residual and not chosen.residual:
            able = ", ".join(algorithm.name for algorithm in TABLE.values() if algorithm.residual)
            raise Unsupported(f"{chosen.name} can't add a residual: use algorithm='auto', or one of {able}")
        return chosen

    def explain(self, nbytes: int, dtype: DType, op: str, limits: Limits | None = None) -> Explanation:
        """The algorithm of a call within ``limits`` (None: the team's limits), and why.  Raises as ``choose``."""
        chosen = self.choose("auto", nbytes, dtype.name, op)
        able, count, n_pes = self._able(dtype, op), max(1, nbytes // dtype.item_bytes), self._topology.n_pes
        why, plan = "which is at most a copy on one PE", Plan(1, count)
        if n_pes > 1:
            forced = algorithm_for(ALLREDUCE) != "auto"
            why = "named by PENNYMPI_ALGORITHM" if forced else self._best(nbytes, dtype, op)[1]
            plan = chosen.plan(count, dtype.item_bytes, dtype.acc_bytes, self._topology, limits or self._limits)
        return Explanation(
            nbytes,
            dtype.name,
            op,
            f"{counted(n_pes, 'PE')} on {self.device}",
            chosen.name,
            why,
            plan,
            plan.piece_elems * dtype.item_bytes,
            self._measured(nbytes, dtype, able),
            self._costs(nbytes, dtype, able),
            {row.name: reason for row in TABLE.values() if (reason := self._refusal(row, dtype.name, op))},
        )

    def _refusal(self, chosen: Algorithm, dtype: str, op: str, residual: bool = False) -> str | None:
        """The reason why an algorithm cannot run here, or None."""
        if self._canonical and not chosen.canonical:
            return "order='canonical' needs sums in the order of the PEs"
        kind = dtype_of(dtype)
        if self._canonical and residual and kind.acc_bytes != kind.item_bytes and chosen.residual != ROUND_ONCE:
            return f"order='canonical' needs a residual that is {ROUND_ONCE}"
        return chosen.why_not(self._topology, dtype, op) or chosen.too_large(self._topology, self._limits)

    def _best(self, nbytes: int, dtype: DType, op: str, residual: bool = False) -> tuple[str, str]:
        """(name, why) of the fastest algorithm that can run, and add a residual if it has to."""
        able = self._able(dtype, op, residual)
        if not able:
            raise Unsupported("no algorithm that can run here adds in the order of the PEs: leave order='canonical' out")
        measured = self._measured(nbytes, dtype, able)
        if measured and self.tuned:
            return min(measured, key=lambda name: measured[name]), f"the fastest as measured ({self.tuned.source})"
        costs = self._costs(nbytes, dtype, able) or dict.fromkeys(able, 0.0)
        return min(costs, key=lambda name: costs[name]), f"the fastest by the cost model of {self.machine.name}"

    def _able(self, dtype: DType, op: str, residual: bool = False) -> dict[str, Algorithm]:
        """{name: algorithm} for the algorithms that can run, and can add a residual if they have to."""
        candidates = (chosen for chosen in TABLE.values() if chosen.residual or not residual)
        return {chosen.name: chosen for chosen in candidates if not self._refusal(chosen, dtype.name, op, residual)}

    def _measured(self, nbytes: int, dtype: DType, able: Mapping[str, Algorithm]) -> dict[str, float]:
        """{name of an algorithm in ``able``: us of a call} from the tuned table."""
        times = self.tuned.times(dtype.name, nbytes) if self.tuned else {}
        return {name: us for name, us in times.items() if name in able}

    def _costs(self, nbytes: int, dtype: DType, able: Mapping[str, Algorithm]) -> dict[str, float]:
        """{name of an algorithm in ``able``: us of a call} by the cost model."""
        count, sizes = max(1, nbytes // dtype.item_bytes), (dtype.item_bytes, dtype.acc_bytes)
        costs: dict[str, float] = {}
        for chosen in able.values() if self._topology.n_pes > 1 else ():
            if chosen.cost_us:
                plan = chosen.plan(count, *sizes, self._topology, self._limits)
                size = Size(count, *sizes, plan.blocks * plan.piece_elems)
                costs[chosen.name] = chosen.cost_us(size, self._topology, self.machine)
        return costs


def agree_on_selection(job: Job, backend: Backend, topology: Topology) -> Selection:
    """The selection that all PEs of a team share: PE 0 reads the table and finds the machine.  Collective."""
    link = measure(job) if backend.name == "host" else None
    data = (machine_of(backend, topology, link), find(backend.device_name, topology)) if job.me == 0 else None
    machine, tuned = job.gather(data, "broadcast of the tuned table")[0]
    return Selection(topology, Limits(backend.max_blocks, backend.buffer_bytes), machine, tuned, backend.device_name)


def machine_of(backend: Backend, topology: Topology, link: Link | None = None) -> Machine:
    """The constants of the costs for this process's device and links.  link: link between nodes of CPUs"""
    if backend.name == "host":
        node = machines.host(topology.largest_node if link else topology.n_pes, os.cpu_count() or 1)
        return machines.between_hosts(node, *link) if link else node
    return machines.NVLINK if topology.ll128_safe or topology.n_nodes > 1 else machines.PCIE
