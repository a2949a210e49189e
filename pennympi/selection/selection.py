"""Which AllReduce algorithm runs: the named one, else the fastest one as measured, else as the model predicts."""

import copy
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from ..arrays.dtypes import DType, dtype_of
from ..backend import Backend
from ..errors import Unsupported
from ..files import FileError
from ..job.job import Job
from ..kernels.algorithm import WITH_THE_SUM, Algorithm, Limits, Place, Plan
from ..kernels.allreduce import PLANNED, TABLE
from ..settings import algorithm_for
from ..topology.between_nodes import Link, measure
from . import machine as machines
from .cost import predict
from .find import find
from .machine import Machine
from .tuned import Tuned

COLLECTIVE = "allreduce"
NEEDS_SHARED_OUT = "runs in plans whose out is the same symmetric array on every PE: see team.plan_allreduce"


@dataclass(frozen=True)
class Explanation:
    """Which algorithm an AllReduce of one kind will run, and why.  ``str`` of it is a report of several lines.

    nbytes, dtype, op: the kind;  where: the number of PEs and their device
    algorithm, why:    the algorithm that will run, and why
    plan:        blocks (at most one on each multiprocessor of a GPU), elements of a message, and threads of a block
                 (0: the backend's default)
    piece_bytes: size of a message
    measured, modelled: {algorithm: us of a call}, from the tuned table and by the cost model
    refused:     {algorithm: why it cannot run here}
    """

    nbytes: int
    dtype: str
    op: str
    where: str
    algorithm: str
    why: str
    plan: Plan
    piece_bytes: int
    measured: Mapping[str, float]
    modelled: Mapping[str, float]
    refused: Mapping[str, str]

    def __str__(self) -> str:
        plan = self.plan
        threads = f" of {plan.threads} threads" if plan.threads else ""
        lines = [
            f"allreduce of {self.nbytes} bytes, {self.dtype} {self.op}, {self.where}: {self.algorithm}, {self.why}",
            f"  {plan.blocks} block{'s' * (plan.blocks != 1)}{threads}, pieces of {self.piece_bytes} bytes",
        ]
        names = sorted(
            {*self.measured, *self.modelled}, key=lambda name: self.measured.get(name, self.modelled.get(name, 0))
        )
        for name in names:
            said = [f"{self.measured[name]:.4g} us measured"] if name in self.measured else []
            said += [f"{self.modelled[name]:.4g} us by the model"] if name in self.modelled else []
            lines.append(f"  {name:20s} {', '.join(said)}")
        lines += [f"  {name:20s} can't run: {why}" for name, why in self.refused.items()]
        return "\n".join(lines)


class Selection:
    """The choice of AllReduce algorithms for one team.

    place:   of the team;  limits: of its launches
    machine: the constants of the cost model;  tuned: the table of measured times, or None
    device:  name of the device of its PEs
    """

    def __init__(self, place: Place, limits: Limits, machine: Machine, tuned: Tuned | None, device: str):
        self._place, self._limits, self.machine, self.tuned, self.device = place, limits, machine, tuned, device
        self._canonical = False

    def canonical(self) -> "Selection":
        """The same, but only of algorithms that add in the order of the PEs and round once."""
        other = copy.copy(self)
        other._canonical = True
        return other

    def choose(
        self, name: str | Algorithm, place: Place, nbytes: int, dtype: str, op: str, residual: bool = False
    ) -> Algorithm:
        """The row to run for a vector of ``nbytes`` bytes.

        name:     of an algorithm, or "auto"; or a row, whose plan may have been changed
        residual: the algorithm has to add a residual
        Raises ValueError for an unknown name, Unsupported if the algorithm cannot run here.
        """
        if name == "auto":
            name = algorithm_for(COLLECTIVE)
        if name == "auto":
            name = self._best(nbytes, dtype_of(dtype), op, residual)[0]
        row = name if isinstance(name, Algorithm) else TABLE.get(name)
        if row is None and name in PLANNED:
            raise Unsupported(f"{name} {NEEDS_SHARED_OUT}")
        if row is None:
            raise ValueError(f"algorithm {name!r} is unknown: use auto, {', '.join(TABLE)}")
        reason = self._refusal(row, dtype, op, residual)
        if reason:
            raise Unsupported(f"{row.name} can't run here: {reason}; use algorithm='auto'")
        if residual and not row.residual:
            able = ", ".join(other.name for other in TABLE.values() if other.residual)
            raise Unsupported(f"{row.name} can't add a residual: use algorithm='auto', or one of {able}")
        return row

    def planned(self, name: str | Algorithm, nbytes: int, dtype: str, op: str, shared: bool) -> Algorithm | None:
        """The row for a plan that writes the peers' ``out`` directly, or None if ``choose`` has to choose the row.

        shared: ``out`` is the same symmetric array on every PE
        Raises Unsupported if ``name`` names such a row and it cannot run here.
        """
        if isinstance(name, Algorithm):
            return None
        if name == "auto":
            name = algorithm_for(COLLECTIVE)
        together = self._place.n_pes > 1 and self._place.ll128_safe and len(set(self._place.node_of)) == 1
        if name == "auto" and shared and together:
            name = next((row for row, least in self.machine.shared_out.items() if nbytes >= least), name)
        row = PLANNED.get(str(name))
        if row is None:
            return None
        reason = self._refusal(row, dtype, op)
        if reason or not shared:
            raise Unsupported(f"{name} can't run here: {reason}" if reason else f"{name} {NEEDS_SHARED_OUT}")
        return row

    def _refusal(self, row: Algorithm, dtype: str, op: str, residual: bool = False) -> str:
        """Why a row cannot run here, or "" if it can."""
        if self._canonical and not row.canonical:
            return "order='canonical' needs sums in the order of the PEs"
        kind = dtype_of(dtype)
        if self._canonical and residual and kind.acc_bytes != kind.item_bytes and row.residual != WITH_THE_SUM:
            return f"order='canonical' needs a residual that is {WITH_THE_SUM}"
        return row.refuse(self._place, dtype, op) or row.no_room(self._place, self._limits)

    def explain(self, nbytes: int, dtype: DType, op: str, limits: Limits | None = None) -> Explanation:
        """What a call will run within ``limits`` (None: the team's), and why.  Raises as ``choose``."""
        limits = limits or self._limits
        row = self.choose("auto", self._place, nbytes, dtype.name, op)
        forced = algorithm_for(COLLECTIVE) != "auto"
        why = "named by PENNYMPI_ALGORITHM" if forced else self._best(nbytes, dtype, op)[1]
        count, alone = max(1, nbytes // dtype.item_bytes), self._place.n_pes == 1
        able = self._able(dtype, op)
        plan = Plan(1, count) if alone else row.plan(count, dtype.item_bytes, dtype.acc_bytes, self._place, limits)
        return Explanation(
            nbytes,
            dtype.name,
            op,
            f"{self._place.n_pes} PEs on {self.device}",
            row.name,
            "which is at most a copy on one PE" if alone else why,
            plan,
            plan.piece_elems * dtype.item_bytes,
            self._measured(nbytes, dtype, able),
            self._modelled(nbytes, dtype, able),
            {one.name: reason for one in TABLE.values() if (reason := self._refusal(one, dtype.name, op))},
        )

    def _best(self, nbytes: int, dtype: DType, op: str, residual: bool = False) -> tuple[str, str]:
        """(name, why) of the fastest algorithm that can run, and add a residual if it has to."""
        able = self._able(dtype, op, residual)
        measured = self._measured(nbytes, dtype, able)
        if measured and self.tuned:
            return min(measured, key=lambda name: measured[name]), f"the fastest as measured ({self.tuned.source})"
        modelled = self._modelled(nbytes, dtype, able)
        if modelled:
            return min(modelled, key=lambda name: modelled[name]), f"the fastest by the cost model of {self.machine.name}"
        if not able:
            raise Unsupported("no algorithm adds in the order of the PEs here: leave order='canonical' out")
        return next(iter(able)), "the first that can run, because none has a formula"

    def _able(self, dtype: DType, op: str, residual: bool = False) -> dict[str, Algorithm]:
        """{name: row} of the algorithms that can run, and add a residual if they have to."""
        rows = (row for row in TABLE.values() if row.residual or not residual)
        return {row.name: row for row in rows if not self._refusal(row, dtype.name, op, residual)}

    def _measured(self, nbytes: int, dtype: DType, able: Mapping[str, Algorithm]) -> dict[str, float]:
        """{algorithm of these: us of a call} from the tuned table."""
        times = self.tuned.times(COLLECTIVE, dtype.name, nbytes) if self.tuned else {}
        return {name: us for name, us in times.items() if name in able}

    def _modelled(self, nbytes: int, dtype: DType, able: Mapping[str, Algorithm]) -> dict[str, float]:
        """{algorithm of these: us of a call} by the cost model."""
        count = max(1, nbytes // dtype.item_bytes)
        times: dict[str, float] = {}
        for row in able.values() if self._place.n_pes > 1 else ():
            us = predict(row, count, dtype.item_bytes, dtype.acc_bytes, self._place, self._limits, self.machine)
            if us is not None:
                times[row.name] = us
        return times


def agree_on_selection(job: Job, backend: Backend, place: Place) -> Selection:
    """The selection that all PEs of a team share: PE 0 reads the table and finds the machine.  Collective.

    Raises FileError on every PE if PENNYMPI_TUNED names a table that is not for this team.
    """
    machine, tuned, error = machines.NVLINK, None, None
    link = measure(job) if backend.name == "host" else None
    if job.me == 0:
        machine = machine_of(backend, place, link)
        try:
            tuned = find(backend.device_name, place)
        except FileError as caught:
            error = caught
    machine, tuned, error = job.gather((machine, tuned, error), "broadcast of the tuned table")[0]
    if error is not None:
        raise error
    return Selection(place, Limits(backend.max_blocks, backend.buffer_bytes), machine, tuned, backend.device_name)


def machine_of(backend: Backend, place: Place, link: Link | None = None) -> Machine:
    """The constants of the cost model for this process's device and links.  link: of CPUs to other nodes"""
    if backend.name == "host":
        node = machines.host(max(map(len, place.nodes)) if link else place.n_pes, os.cpu_count() or 1)
        return machines.between_hosts(node, *link) if link else node
    return machines.NVLINK if place.ll128_safe or len(set(place.node_of)) > 1 else machines.PCIE


def unknown_order(order: Any) -> NoReturn:
    """Raises ValueError."""
    raise ValueError(f"order {order!r} is unknown: use 'any' or 'canonical'")
