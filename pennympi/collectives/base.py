"""The host side of every collective: checked calls, workspaces, prepared launches and plans."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from mpi4py.MPI import IN_PLACE

from ..annotations import Plan
from ..arrays.array_view import ArrayView, check_pair
from ..arrays.dtypes import DType, positive
from ..arrays.operators import too_many_pes
from ..backend import Backend, Run
from ..call_guard import CallGuard
from ..compile.bind import CONSTANTS, parameters
from ..compile.options import KernelOptions
from ..errors import Unsupported
from ..job.control import tag_of
from ..job.job import Job
from ..kernels.algorithm import Algorithm, Limits, Topology
from ..kernels.block import EPOCH_BITS
from ..kernels.records import Work
from ..kernels.rma import put_bytes
from ..memory.symmetric import SymmetricArrays, keep
from ..memory.workspace import Workspaces
from ..selection.choose import algorithm_named, check_runs
from ..settings import algorithm_for
from ..state import state
from .kinds import NO_ADDRESSES, Addresses, Kind
from .persistent import Launch, plan_of

BLOCK_BYTES = 16384  # least bytes that a block copies in a team of one PE


@dataclass(frozen=True)
class CollectiveContext:
    """The objects that the collectives of a team share.

    sms: number of multiprocessors that a call may hold if its own ``sms`` is None; None: all
    """

    backend: Backend
    job: Job
    guard: CallGuard
    arrays: SymmetricArrays
    topology: Topology
    workspaces: Workspaces
    sms: int | None


class Collective:
    """A collective of a team.  A subclass checks the arguments (``check``) and chooses the algorithm (``choose``).

    All calls of an algorithm, eager, planned and captured, share one workspace: ``Order`` runs them one
    after another, whatever their streams.

    name:       name of the call
    table:      {name: algorithm}
    auto:       (topology, bytes) -> name of the algorithm that "auto" runs; None: the only algorithm
    in_parts:   True if an array has a part for each PE
    runs_alone: True if the kernel also runs on a team of one PE, and for a count of 0
    """

    name = ""
    in_parts = runs_alone = False
    table: ClassVar[Mapping[str, Algorithm]]
    auto: ClassVar[Any] = None

    def __init__(self, context: CollectiveContext):
        self.backend, self.job, self.arrays = context.backend, context.job, context.arrays
        self.topology = context.topology
        self._guard, self._workspaces, self._sms = context.guard, context.workspaces, context.sms
        self._enter, self._handle_of = context.guard.count, context.backend.streams.handle
        self._run_in_order = context.backend.streams.order.enqueue
        self._call_key: Callable[[tuple[Any, ...]], tuple[Any, ...] | None] = context.backend.heap.call_key
        self._launches: dict[tuple[Any, ...], Launch] = {}
        self._checked: dict[tuple[Any, ...] | None, tuple[Launch, Addresses]] = {}  # {key of a call: its launch}

    def check(self, *args: Any) -> tuple[Addresses, Kind]:
        """Check a call's arguments before anything is sent.  Raises TypeError, ValueError or Unsupported."""
        raise NotImplementedError

    def choose(self, algorithm: str | Algorithm, call: Kind) -> Algorithm:
        """The algorithm to run.  Raises ValueError for an unknown name, Unsupported if it cannot run here."""
        if algorithm == "auto":
            algorithm = algorithm_for(self.name)
        if algorithm == "auto":
            nbytes = call.n_elems * call.dtype.item_bytes
            algorithm = self.auto(self.topology, nbytes) if self.auto else next(iter(self.table))
        chosen = algorithm_named(algorithm, self.table)
        check_runs(chosen, chosen.why_not(self.topology, call.size[1].name, call.op))
        return chosen

    def views(self, x: Any, out: Any) -> tuple[ArrayView, ArrayView, bool]:
        """Both arrays, and whether out is symmetric.  Raises as ``Heap.array_view``, ValueError."""
        src, dst = self.backend.heap.array_view(x, False), self.backend.heap.array_view(out, True)
        self.arrays.holds(src)
        return src, dst, self.arrays.holds(dst)

    def x_and_out(self, x: Any, out: Any, writes: bool = True) -> tuple[ArrayView, ArrayView, bool]:
        """Both arrays, of equal count and dtype; True if they are two arrays and out is symmetric.

        writes: True if this PE gets the result.  Raises as ``Heap.array_view``, ValueError.
        """
        if x is IN_PLACE:
            x, out = out, None
        in_place = not writes or out is None or out is x
        src = dst = self.backend.heap.array_view(x, writes and in_place)
        self.arrays.holds(src)
        symmetric = False  # in place: peers may not write out before this PE has sent it
        if not in_place:
            dst = self.backend.heap.array_view(out, True)
            symmetric = self.arrays.holds(dst) and dst.address != src.address
            check_pair(src, dst)
        return src, dst, symmetric

    def algorithm_of_plan(self, addresses: Addresses, call: Kind, algorithm: str | Algorithm) -> str | Algorithm:
        """The algorithm of a plan: ``algorithm``, or an algorithm that eager calls cannot run.  Collective."""
        return algorithm

    def single_pe_run(self, call: Kind) -> Run:
        """The launch of a team of one PE: copy src to out."""
        kernel = self.backend.compiler.kernel(put_bytes, f"{self.name} of one PE")
        nbytes = call.n_elems * call.dtype.item_bytes
        blocks = max(1, min(self.backend.max_blocks, nbytes // BLOCK_BYTES))
        run = kernel.prepare(blocks, (0, 0, nbytes, 0), (0, 1))
        lock = self.backend.streams.order.lock  # the lock that other calls hold in Order.enqueue

        def copy(dst: int, src: int, stream: int) -> None:
            if dst != src:
                with lock:
                    run(dst, src, stream)

        return copy

    def with_follow_up(self, chosen: Algorithm, run: Run, call: Kind, work: Work) -> Run:
        """The launch, and the work that follows it in its stream."""
        return run

    def run_eager(self, algorithm: str | Algorithm, stream: Any, sms: int | None, *args: Any) -> None:
        """Check the arguments and run in stream order.  Collective."""
        guard = self._guard
        if not guard.is_open:
            guard.check_open()
        handle = self._handle_of(stream)
        call_key = None if state.freed else self._call_key((state.changes, algorithm, sms, *args))
        checked = self._checked.get(call_key)
        if checked:
            launch, addresses = checked
            self._enter(launch.text)
        else:
            addresses, call = self.check(*args)
            key = call, algorithm, sms
            known = self._launches.get(key)
            if known:
                self._enter(known.text)
            launch = known or keep(self._launches, key, self._compile(call, algorithm, sms))
            if call_key:
                keep(self._checked, call_key, (launch, addresses))
        run, waits, _ = launch
        if waits:
            self._run_in_order(run, addresses, handle, stream)
        else:
            run(*addresses, handle)

    def make_plan(self, algorithm: str | Algorithm, sms: int | None, *args: Any) -> Plan:
        """A persistent call, which keeps its arrays alive and ends when they are freed.  Collective."""
        self._guard.check_open()
        addresses, call = self.check(*args)
        self.limits(sms)
        number = self._guard.next_plan()
        self._enter(f"plan_{self._describe(call)}, plan {number}")
        algorithm = self.algorithm_of_plan(addresses, call, algorithm)
        launch = self._compile(call, algorithm, sms, number)
        return plan_of(self.backend, self.arrays, self._enter, launch, addresses, args)

    def limits(self, sms: int | None) -> Limits:
        """The limits of a launch.  Raises TypeError or ValueError unless ``sms`` is None or a positive int."""
        most = self.backend.max_blocks
        sms = self._sms if sms is None else sms
        return Limits(most if sms is None else min(positive("sms", sms), most), self.backend.buffer_bytes)

    def _describe(self, call: Kind, chosen: Algorithm | None = None, sms: int | None = None, plan: int = 0) -> str:
        """The text of a call: the same on every PE, and different for calls with different messages."""
        first, *texts = call.texts
        texts.insert(0, f"{self.name} of {f'{self.job.n_pes} x ' if self.in_parts else ''}{first}")
        texts += [f"by {chosen.name}" if chosen else "", "" if sms is None else f"sms={sms}"]
        texts.append(f"plan {plan}" if plan else "")
        return ", ".join(filter(None, texts))

    def _compile(self, call: Kind, algorithm: str | Algorithm, sms: int | None, plan_number: int = 0) -> Launch:
        """Choose the algorithm, divide the call into pieces, and compile the kernel, in the same order on every PE.

        plan_number: number of the plan; 0: an eager call, which is entered here, before anything is sent
        """
        n_pes, limits, (count, dtype) = self.job.n_pes, self.limits(sms), call.size
        if reason := too_many_pes(call.op, dtype, n_pes):
            raise Unsupported(reason)
        chosen = self.choose(algorithm, call)
        has_kernel = self.runs_alone or (count > 0 and n_pes > 1)
        if has_kernel:
            check_runs(chosen, chosen.too_large(self.topology, limits))
        text = self._describe(call, chosen, self._sms if sms is None else sms, plan_number)
        if not plan_number:
            self._enter(text)
        if not has_kernel:
            run = self.single_pe_run(call) if count else lambda *addresses_and_stream: None
            return Launch(run, False, text)
        plan = chosen.plan(count, dtype.item_bytes, dtype.acc_bytes, self.topology, limits)
        record = call.record(plan.piece_elems)
        options = KernelOptions(
            reduction=(dtype, call.op) if call.op else None,
            constants=constants(chosen.kernel, dtype, n_pes, call.params),
            aligned=call.aligned and count * dtype.item_bytes % 16 == 0,
        )
        kernel = self.backend.compiler.kernel(chosen.kernel, f"{self.name} ({chosen.name})", options)
        work = self._workspaces.shared(self.name, chosen).work(limits.buffer_bytes, tag_of(text) << EPOCH_BITS)
        left_open = tuple(2 + record._fields.index(name) for name in call.params if name not in NO_ADDRESSES)
        run = kernel.prepare(plan.blocks, (self.job.me, n_pes, *record, *work), left_open, plan.threads)
        return Launch(self.with_follow_up(chosen, run, call, work), self.backend.has_streams, text)


def constants(kernel: Callable[..., Any], dtype: DType, n_pes: int, open_params: Sequence[str] = ()) -> dict[str, int]:
    """The values of a kernel's constant parameters: all of ``CONSTANTS`` except the parameters that calls set."""
    values = dict.fromkeys(CONSTANTS, 0) | {"n_pes": n_pes, "item_bytes": dtype.item_bytes, "acc_bytes": dtype.acc_bytes}
    return {name: values[name] for name in CONSTANTS if name in parameters(kernel) and name not in open_params}
