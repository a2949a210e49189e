"""What every collective needs on the host side: checked calls, workspaces, prepared launches and plans."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from mpi4py.MPI import IN_PLACE

from ..annotations import Plan
from ..arrays.array_view import ArrayView, check_pair
from ..arrays.dtypes import TABLE as DTYPES
from ..arrays.dtypes import DType, is_int
from ..backend import Backend, Run
from ..call_guard import CallGuard
from ..compile.bind import CONSTANTS, parameters
from ..compile.options import KernelOptions
from ..job.control import tag_of
from ..job.job import Job
from ..kernels.algorithm import Algorithm, Limits, Topology
from ..kernels.block import EPOCH_BITS
from ..kernels.records import Parts, Reduction, Transfer, Work
from ..kernels.rma.on_stream import put_bytes
from ..memory.symmetric import SymmetricArrays, keep
from ..memory.workspace import Workspaces
from ..selection.choose import algorithm_named, check_runs
from ..settings import algorithm_for
from .persistent import Launch, plan_of

BYTE = DTYPES["uint8"]  # collectives that do not reduce move bytes, whatever the dtype
BLOCK_BYTES = 16384  # a block of a team of one PE copies at least this


@dataclass(frozen=True)
class CollectiveContext:
    """What the collectives of a team share.

    sms: the multiprocessors that a call may hold when its own ``sms`` is None (None: all)
    """

    backend: Backend
    job: Job
    guard: CallGuard
    arrays: SymmetricArrays
    topology: Topology
    workspaces: Workspaces
    sms: int | None


class Request(NamedTuple):
    """One call whose arguments have been checked.

    addresses:        of the arrays, one for each of the collective's ``address_params``.  They differ from call to call;
                      a ``Launch`` depends on the other fields only.
    n_elems:          elements of ``dtype``: of one PE's part, where an array has parts
    op:               "" for a collective that only moves data
    aligned:          every address is a multiple of 16 bytes
    root:             the root PE, 0 for a collective that has none
    out_is_symmetric: 1 when peers may write ``out`` of this PE directly, else 0
    counts:           of a collective whose parts have any length: its counts, in words; ``n_elems`` is then the largest
                      part of all PEs, 0 if only the device knows it
    """

    addresses: tuple[int, ...]
    n_elems: int
    dtype: DType
    op: str
    aligned: bool
    root: int = 0
    out_is_symmetric: int = 0
    counts: str = ""


class Collective:
    """One collective of one team.  A subclass checks the arguments (``check``) and chooses the algorithm (``choose``).

    All calls of an algorithm, eager, planned and captured, share one workspace: ``Order`` runs them one
    after another, whatever their streams.

    name:           of the call
    table:          its algorithms by name
    address_params: the kernel parameters that take the addresses of a call's arrays
    number_params:  which of ``root`` and ``out_is_symmetric`` a call sets; the others are 0 in the kernels
    moves_bytes:    its kernels know no dtype, and count bytes
    in_parts:       an array has a part for each PE
    runs_alone:     its kernel runs on a team of one PE, too, and for a count of 0
    """

    name = ""
    moves_bytes = in_parts = runs_alone = False
    table: ClassVar[Mapping[str, Algorithm]]
    address_params: tuple[str, ...] = ("out", "src")
    number_params: tuple[str, ...] = ()

    def __init__(self, context: CollectiveContext):
        self.backend, self.job, self.arrays = context.backend, context.job, context.arrays
        self.topology = context.topology
        self._guard, self._workspaces, self._sms = context.guard, context.workspaces, context.sms
        self._enter, self._handle_of = context.guard.count, context.backend.streams.handle
        self._run_in_order = context.backend.streams.order.enqueue
        self._facts: Callable[[tuple[Any, ...]], tuple[Any, ...] | None] = context.backend.heap.facts
        self._launches: dict[tuple[Any, ...], Launch] = {}
        self._checked: dict[tuple[Any, ...] | None, tuple[Launch, tuple[int, ...]]] = {}  # by facts: calls seen before

    def choose(self, name: str | Algorithm, topology: Topology, nbytes: int, dtype: str, op: str, /) -> Algorithm:
        """The algorithm to run.  Raises ValueError for an unknown name, Unsupported for one that cannot run here."""
        if name == "auto":
            name = algorithm_for(self.name)
        chosen = algorithm_named(self.auto(topology, nbytes) if name == "auto" else name, self.table)
        check_runs(chosen, chosen.why_not(topology, dtype, op))
        return chosen

    @classmethod
    def auto(cls, topology: Topology, nbytes: int, /) -> str:
        """The name of the algorithm that "auto" runs, where the collective has a rule by size: else its only one."""
        return next(iter(cls.table))

    def check(self, *args: Any) -> Request:
        """Check a call's arguments before anything is sent.  Raises TypeError, ValueError or Unsupported."""
        raise NotImplementedError

    def views(self, x: Any, out: Any) -> tuple[ArrayView, ArrayView, bool]:
        """Both arrays, and whether out is symmetric.  Raises as ``Heap.array_view``, ValueError."""
        src, dst = self.backend.heap.array_view(x, False), self.backend.heap.array_view(out, True)
        self.arrays.holds(src)
        return src, dst, self.arrays.holds(dst)

    def x_and_out(self, x: Any, out: Any, writes: bool = True) -> tuple[ArrayView, ArrayView, bool]:
        """Both arrays, alike, or one array in place of both; and whether they are two, and out is symmetric.

        writes: this PE has the result.  Raises as ``Heap.array_view``, ValueError.
        """
        if x is IN_PLACE:
            x, out = out, None
        in_place = not writes or out is None or out is x
        src = dst = self.backend.heap.array_view(x, writes and in_place)
        self.arrays.holds(src)
        symmetric = False  # in place, no peer may write before this PE has sent
        if not in_place:
            dst = self.backend.heap.array_view(out, True)
            symmetric = self.arrays.holds(dst) and dst.address != src.address
            check_pair(src, dst)
        return src, dst, symmetric

    def algorithm_of_plan(self, request: Request, algorithm: str | Algorithm) -> str | Algorithm:
        """The algorithm that a plan asks for where it may use more than an eager call.  Collective."""
        return algorithm

    @classmethod
    def options(cls, chosen: Algorithm, dtype: DType, op: str, n_pes: int, aligned: bool) -> KernelOptions:
        """How the kernel of an algorithm is compiled for this collective.  op: "" for one that only moves data"""
        fixed = constants(chosen.kernel, dtype, n_pes, (*cls.address_params, *cls.number_params))
        return KernelOptions(reduction=(dtype, op) if op else None, constants=fixed, aligned=aligned)

    def single_pe_run(self, request: Request) -> Run:
        """The launch of a team of one PE: copy src to out."""
        kernel = self.backend.compiler.kernel(put_bytes, f"{self.name} of one PE")
        nbytes = request.n_elems * request.dtype.item_bytes
        blocks = max(1, min(self.backend.max_blocks, nbytes // BLOCK_BYTES))
        run = kernel.prepare(blocks, (0, 0, nbytes, 0), (0, 1))
        lock = self.backend.streams.order.lock  # which other calls hold in Order.enqueue

        def copy(dst: int, src: int, stream: int) -> None:
            if dst != src:
                with lock:
                    run(dst, src, stream)

        return copy

    def record(self, request: Request, dtype: DType, count: int, piece_elems: int) -> Reduction | Transfer | Parts:
        """The call as its kernel takes it, with 0 in place of the addresses.  count, piece_elems: in elements of dtype"""
        if self.moves_bytes:
            return Transfer(0, 0, count, piece_elems, request.root, request.out_is_symmetric)
        return Reduction(0, 0, count, piece_elems, dtype.item_bytes, dtype.acc_bytes, 0, request.root)

    def with_follow_up(self, chosen: Algorithm, run: Run, request: Request, work: Work) -> Run:
        """The launch together with the work that has to follow it in its stream."""
        return run

    def run_eager(self, algorithm: str | Algorithm, stream: Any, sms: int | None, *args: Any) -> None:
        """Check the arguments and run in stream order.  Collective."""
        guard = self._guard
        if not guard.is_open:
            guard.check_open()
        handle = self._handle_of(stream)
        arrays = self.arrays
        facts = None if arrays.freed else self._facts((arrays.changes, algorithm, sms, *args))
        checked = self._checked.get(facts)
        if checked:
            launch, addresses = checked
            self._enter(launch.text)
        else:
            request = self.check(*args)
            addresses, key = request.addresses, (*request[1:], algorithm, sms)
            found = self._launches.get(key)
            if found:
                self._enter(found.text)
            launch = found or keep(self._launches, key, self._compile(request, algorithm, sms))
            if facts:
                keep(self._checked, facts, (launch, addresses))
        run, waits, _, _ = launch
        if waits:
            self._run_in_order(run, addresses, handle, stream)
        else:
            run(*addresses, handle)

    def make_plan(self, algorithm: str | Algorithm, sms: int | None, *args: Any) -> Plan:
        """A persistent call that keeps its arrays alive, and ends with them.  Collective."""
        self._guard.check_open()
        request = self.check(*args)
        self.limits(sms)
        number = self._guard.next_plan()
        self._enter(f"plan_{self._describe(request)}, plan {number}")
        algorithm = self.algorithm_of_plan(request, algorithm)
        launch = self._compile(request, algorithm, sms, number)
        return plan_of(self.backend, self.arrays, self._enter, launch, request.addresses, args)

    def limits(self, sms: int | None) -> Limits:
        """What a launch may use.  Raises TypeError or ValueError unless ``sms`` is None or a positive int."""
        most = self.backend.max_blocks
        sms = self._sms if sms is None else sms
        if sms is not None:
            if not is_int(sms):
                raise TypeError(f"sms must be an int, got {sms!r}")
            if sms < 1:
                raise ValueError(f"sms must be at least 1, got {sms}")
            most = min(int(sms), most)
        return Limits(most, self.backend.buffer_bytes)

    def _describe(self, request: Request, chosen: Algorithm | None = None, sms: int | None = None, plan: int = 0) -> str:
        """A call in words that are the same on every PE, and differ where the messages do."""
        parts = f"{self.job.n_pes} x " if self.in_parts else ""
        words = [f"{self.name} of {request.counts or f'{parts}{request.n_elems}'} {request.dtype.name}", request.op]
        words.append("with a residual" if "residual" in self.address_params else "")
        words.append(f"root {request.root}" if "root" in self.number_params else "")
        words.append(f"by {chosen.name}" if chosen else "")
        words += ["" if sms is None else f"sms={sms}", f"plan {plan}" if plan else ""]
        return ", ".join(word for word in words if word)

    def _compile(self, request: Request, algorithm: str | Algorithm, sms: int | None, plan_number: int = 0) -> Launch:
        """Choose the algorithm, cut the call into pieces, and compile the kernel.  Every PE does so in the same order.

        plan_number: of the plan that is made, 0 for an eager call, which is entered here, before anything is sent
        """
        op, n_pes = request.op, self.job.n_pes
        nbytes = request.n_elems * request.dtype.item_bytes
        count, dtype = (nbytes, BYTE) if self.moves_bytes else (request.n_elems, request.dtype)
        limits = self.limits(sms)
        chosen = self.choose(algorithm, self.topology, nbytes, dtype.name, op)
        has_kernel = self.runs_alone or (count > 0 and n_pes > 1)
        if has_kernel:
            check_runs(chosen, chosen.too_large(self.topology, limits))
        text = self._describe(request, chosen, self._sms if sms is None else sms, plan_number)
        if not plan_number:
            self._enter(text)
        if not has_kernel:
            run = self.single_pe_run(request) if count else lambda *addresses_and_stream: None
            return Launch(run, False, text)
        plan = chosen.plan(count, dtype.item_bytes, dtype.acc_bytes, self.topology, limits)
        options = self.options(chosen, dtype, op, n_pes, request.aligned and nbytes % 16 == 0)
        kernel = self.backend.compiler.kernel(chosen.kernel, f"{self.name} ({chosen.name})", options)
        work = self._workspaces.shared(self.name, chosen).work(limits.buffer_bytes, tag_of(text) << EPOCH_BITS)
        record = self.record(request, dtype, count, plan.piece_elems)
        left_open = tuple(2 + record._fields.index(name) for name in self.address_params)
        run = kernel.prepare(plan.blocks, (self.job.me, n_pes, *record, *work), left_open, plan.threads)
        return Launch(self.with_follow_up(chosen, run, request, work), self.backend.has_streams, text)


def constants(kernel: Callable[..., Any], dtype: DType, n_pes: int, open_params: Sequence[str] = ()) -> dict[str, int]:
    """The values of a kernel's parameters that are compiled in: all of ``CONSTANTS`` but those that calls set."""
    values = dict.fromkeys(CONSTANTS, 0) | {
        "n_pes": n_pes,
        "item_bytes": dtype.item_bytes,
        "acc_bytes": dtype.acc_bytes,
    }
    return {name: values[name] for name in CONSTANTS if name in parameters(kernel) and name not in open_params}
