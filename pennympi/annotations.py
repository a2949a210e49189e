"""The types of the library's arguments and results for editors and type checkers.

A program may use them for its own annotations: ``from pennympi.annotations import Op, Plan``.
tests/library/test_annotations.py compares the Literals with the tables.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, SupportsIndex, TypeAlias

import numpy as np
from mpi4py import MPI

BackendName: TypeAlias = Literal["auto", "host", "cuda"]
Priority: TypeAlias = Literal["normal", "high"]
ExchangeForm: TypeAlias = Literal["put_barrier", "put_fence_signal", "put_signal", "packets"]
EngineName: TypeAlias = Literal["auto", "plain", "blocked", "resident"]
OpName: TypeAlias = Literal["sum", "prod", "min", "max", "avg", "mean"]
Op: TypeAlias = OpName | MPI.Op
Order: TypeAlias = Literal["any", "canonical"]

AllReduceAlgorithm: TypeAlias = Literal[
    "auto", "ring", "simple_ring", "multi_ring", "hierarchical", "hierarchical_packets", "one_shot", "one_shot_packets",
    "two_shot", "two_shot_packets", "half_butterfly", "halving_doubling", "recursive_doubling", "tree", "nvls",
]  # fmt: skip
PlannedAllReduceAlgorithm: TypeAlias = AllReduceAlgorithm | Literal["two_shot_direct", "two_shot_copied"]
AllGatherAlgorithm: TypeAlias = Literal["auto", "naive", "ring", "packets", "direct"]
ReduceScatterAlgorithm: TypeAlias = Literal["auto", "ring", "packets", "direct"]
BroadcastAlgorithm: TypeAlias = Literal["auto", "ring", "packets", "spread"]
ReduceAlgorithm: TypeAlias = Literal["auto", "ring", "packets", "direct", "gathered"]
AllToAllAlgorithm: TypeAlias = Literal["auto", "pairwise", "packets", "direct"]
AllGathervAlgorithm: TypeAlias = Literal["auto", "pairwise", "packets"]
ReduceScattervAlgorithm: TypeAlias = Literal["auto", "pairwise", "packets"]
AllToAllvAlgorithm: TypeAlias = Literal["auto", "pairwise", "packets"]


class Buffer(Protocol):
    """An object with Python's buffer protocol: a NumPy array, a bytearray, an array.array."""

    def __buffer__(self, flags: int, /) -> memoryview: ...


class DLPackArray(Protocol):
    """An array that DLPack describes: NumPy, CuPy, PyTorch, JAX."""

    def __dlpack_device__(self) -> tuple[Any, Any]: ...


class CudaArray(Protocol):
    """A device array with __cuda_array_interface__, as Numba, CuPy and PyTorch have it."""

    @property
    def __cuda_array_interface__(self) -> Any: ...


MPIBuffer: TypeAlias = list[Any] | tuple[Any, ...]  # [x, MPI.DOUBLE] or [x, count, MPI.DOUBLE]
Array: TypeAlias = Buffer | DLPackArray | CudaArray | MPIBuffer  # arrays as arguments of calls
Counts: TypeAlias = Sequence[int] | Buffer | DLPackArray | CudaArray  # a count for each PE, on the host or on the device
Number: TypeAlias = bool | int | float | complex | np.number[Any] | np.bool_
Shape: TypeAlias = SupportsIndex | Iterable[SupportsIndex]
DTypeLike: TypeAlias = Any  # a name, or a dtype of NumPy, CuPy, ml_dtypes or PyTorch

if TYPE_CHECKING:

    class NewArray(np.ndarray[Any, np.dtype[Any]]):
        """An array made by a team: numpy.ndarray on the host, cupy.ndarray on a GPU, which has the same methods.

        Attributes that only CuPy has are no errors.
        """

        def __getattr__(self, name: str) -> Any: ...

else:
    NewArray = Any


class Stream(Protocol):
    """A stream of ``team.stream``: a stream of the host backend, or cupy.cuda.Stream."""

    def synchronize(self) -> Any: ...

    def record(self, event: Any = None) -> Any: ...

    def wait_event(self, event: Any) -> Any: ...

    def __enter__(self) -> Any: ...

    def __exit__(self, *exc: Any) -> Any: ...


class CudaStream(Protocol):
    """A stream with the protocol of cuda.core."""

    def __cuda_stream__(self) -> tuple[int, int]: ...


class TorchStream(Protocol):
    """A stream of PyTorch."""

    @property
    def cuda_stream(self) -> int: ...


AnyStream: TypeAlias = Stream | CudaStream | TorchStream


class Plan(Protocol):
    """A persistent call, made by the ``plan_`` methods.  It keeps its arrays alive."""

    def __call__(self, stream: AnyStream | None = None) -> None:
        """Run in stream order.  Collective."""
