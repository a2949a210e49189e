"""The objects that the cuda backend accepts as arrays."""

from typing import Any

import cupy
import numpy as np
from mpi4py.MPI import IN_PLACE

from ...arrays import dlpack, mpi_buffer
from ...arrays.array_view import PLAIN, ArrayView, not_an_array, not_contiguous, not_in_place
from ...arrays.dtypes import DType, dtype_of

_UNREGISTERED, _DEVICE = 0, 2  # cudaMemoryType: unknown to CUDA, and of a device (1 and 3: host and managed memory)


def array_view(x: Any, writable: bool, device: int) -> ArrayView:
    """Describe an array in device memory: CuPy, PyTorch, __cuda_array_interface__, DLPack, or these in an MPI buffer.

    Raises TypeError (not an array), ValueError (host memory, other device, not contiguous, read-only).
    """
    if isinstance(x, cupy.ndarray):
        if not x.flags.c_contiguous:
            raise not_contiguous("the array", "cupy.ascontiguousarray(x)", writable)
        if x.data.device_id != device:
            raise ValueError(
                f"the array lies on device {x.data.device_id} and this PE uses device {device}: copy it there"
            )
        return ArrayView(x.data.ptr, x.size, dtype_of(x.dtype), x)
    if isinstance(x, np.ndarray | bytes | bytearray | memoryview):
        raise ValueError(
            f"{type(x).__name__} lies in host memory and this team runs on the cuda backend: "
            "copy it with cupy.asarray, or init(backend='host')"
        )
    if type(x).__module__ == "torch":
        return _torch(x, writable, device)
    if x is IN_PLACE:
        raise not_in_place()
    if hasattr(x, "__cuda_array_interface__"):
        return _interface(x, writable, device)
    if hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__"):
        return ArrayView(*dlpack.read(x, writable, (dlpack.CUDA, dlpack.CUDA_MANAGED), device), x)
    if isinstance(x, list | tuple):
        return mpi_buffer.array_view(x, lambda array: array_view(array, writable, device))
    raise not_an_array(x, "a device array: pass a CuPy array, or one with __cuda_array_interface__ or __dlpack__")


def call_key(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Key of a call for the results of its check: address, count and dtype of each array, and the other arguments.

    None if an argument is neither a contiguous CuPy array, nor a str, int or None.
    """
    key: tuple[Any, ...] = ()
    for arg in args:
        if type(arg) is cupy.ndarray:
            if not arg.flags.c_contiguous:
                return None
            key += (arg.data.ptr, arg.size, arg.dtype)
        elif type(arg) in PLAIN:
            key += (arg,)
        else:
            return None
    return key


def new(shape: tuple[int, ...], dtype: DType, stream: int) -> cupy.ndarray:
    """An array for a result of work in the stream, not set.  CuPy reuses its memory in the order of that stream."""
    with cupy.cuda.ExternalStream(stream):
        return cupy.ndarray(shape, dtype.numpy)


def _torch(x: Any, writable: bool, device: int) -> ArrayView:
    if not x.is_cuda:
        raise ValueError("the tensor lies in host memory and this team runs on the cuda backend: pass x.cuda()")
    if x.device.index != device:
        raise ValueError(f"the tensor lies on device {x.device.index} and this PE uses device {device}: move it there")
    if not x.is_contiguous():
        raise not_contiguous("the tensor", "x.contiguous()", writable)
    return ArrayView(x.data_ptr(), x.numel(), dtype_of(str(x.dtype).removeprefix("torch.")), x)


def _interface(x: Any, writable: bool, device: int) -> ArrayView:
    interface = x.__cuda_array_interface__
    dtype = dtype_of(np.dtype(interface["typestr"]))
    shape, strides = interface["shape"], interface.get("strides")
    address, read_only = interface["data"]
    if writable and read_only:
        raise ValueError("the array is read-only, and the call writes to it: pass a copy")
    expected = dtype.item_bytes
    for axis in reversed(range(len(shape))):
        if strides is not None and shape[axis] > 1 and strides[axis] != expected:
            raise not_contiguous(type(x).__name__, "a contiguous copy", writable)
        expected *= shape[axis]
    view = ArrayView(int(address or 0), int(np.prod(shape, dtype=np.int64)), dtype, x)
    if view.count:
        _check_place(view, device)
    return view


def _check_place(view: ArrayView, device: int) -> None:
    """Raise ValueError for memory of another device, and for memory of the host that CUDA does not know."""
    memory = cupy.cuda.runtime.pointerGetAttributes(view.address)
    if memory.type == _DEVICE and memory.device != device:
        raise ValueError(
            f"{type(view.owner).__name__} lies on device {memory.device} and this PE uses device {device}: copy it there"
        )
    if memory.type == _UNREGISTERED:
        raise ValueError(f"{type(view.owner).__name__} lies in host memory: copy it with cupy.asarray")
