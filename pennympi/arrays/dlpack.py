"""Arrays of other libraries (PyTorch, JAX), described by a DLPack capsule without a copy.

The layout is that of dlpack.h, 0.8 (``DLManagedTensor``) and 1.x (``DLManagedTensorVersioned``, which also says
whether the tensor is read-only).
"""

import ctypes
from typing import Any

from ..errors import Unsupported
from .array_view import not_contiguous
from .dtypes import ALL, DType

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
_VERSION, _READ_ONLY = (1, 0), 1  # the newest supported version, and its flag for read-only tensors
_CODES = {0: "i", 1: "u", 2: "f", 4: "b", 5: "c", 6: "?"}


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]


def read(x: Any, writable: bool, device_types: tuple[int, ...], device: int | None = None) -> tuple[int, int, DType]:
    """(address, count in elements, dtype) of an object with ``__dlpack__``.

    writable:     whether the caller writes to the memory
    device_types: DLPack's numbers of the device types that the caller can access
    device:       required device number; None: any

    The caller must keep ``x`` alive, since the capsule is dropped without being consumed.
    Raises Unsupported (DLPack version, dtype), ValueError (device, read-only, not contiguous).
    """
    kind, number = (int(part) for part in x.__dlpack_device__())
    if kind not in device_types:
        where = "host memory" if kind == CPU else "device memory"
        raise ValueError(
            f"{type(x).__name__} is in {where} (DLPack device {kind}), which this backend cannot reach: move it first"
        )
    if device is not None and number != device:
        raise ValueError(
            f"{type(x).__name__} is on device {number} and this PE uses device {device}: move it there first"
        )
    capsule = _exported(x)  # kept alive until its description has been read
    if _is_valid(capsule, b"dltensor_versioned"):
        versioned = _Versioned.from_address(_pointer(capsule, b"dltensor_versioned"))
        if versioned.major != _VERSION[0]:
            raise Unsupported(f"DLPack {versioned.major}.{versioned.minor} of {type(x).__name__} is not 1.x")
        if writable and versioned.flags & _READ_ONLY:
            raise _read_only(x)
        tensor = versioned.tensor
    else:
        if writable and _is_read_only_buffer(x):
            raise _read_only(x)
        tensor = _Tensor.from_address(_pointer(capsule, b"dltensor"))
    letter = _CODES.get(tensor.code)
    dtype = next((d for d in ALL.values() if d.kind == letter and 8 * d.item_bytes == tensor.bits), None)
    if dtype is None or tensor.lanes != 1:
        raise Unsupported(f"DLPack type code {tensor.code} of {tensor.bits} bits is not one of {', '.join(ALL)}")
    count, contiguous = 1, True
    for axis in reversed(range(tensor.ndim)):
        if tensor.strides and tensor.shape[axis] > 1 and tensor.strides[axis] != count:
            contiguous = False
        count *= tensor.shape[axis]
    if count and not contiguous:
        raise not_contiguous(type(x).__name__, "a contiguous copy", writable)
    return (tensor.data or 0) + tensor.byte_offset, count, dtype


def _read_only(x: Any) -> ValueError:
    return ValueError(f"{type(x).__name__} is read-only, and the call writes to it: pass a copy")


def _is_read_only_buffer(x: Any) -> bool:
    """Whether the buffer protocol describes an object as read-only, as it does JAX's arrays on a CPU."""
    try:
        return memoryview(x).readonly
    except (TypeError, ValueError, BufferError):  # the object has no buffer, or its dtype is not in the protocol
        return False


def _exported(x: Any) -> Any:
    """The capsule of ``x``, in the layout of DLPack 1.x if its producer supports it."""
    try:
        return x.__dlpack__(max_version=_VERSION)
    except TypeError:  # the producer is older than DLPack 1.0
        return x.__dlpack__()
