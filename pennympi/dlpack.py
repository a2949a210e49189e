"""Reading a DLPack capsule without a copy: the exchange format of PyTorch, JAX and others.

Layout: dlpack.h of the DLPack project, version 0.8 (``DLManagedTensor``).
"""

import ctypes
from typing import Any

from .dtypes import TABLE, DType
from .errors import Unsupported

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
_CODES = {0: "i", 1: "u", 2: "f", 4: "b"}


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


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def read(x: Any, device_types: tuple[int, ...]) -> tuple[int, int, DType]:
    """(address, count, dtype) of an object with ``__dlpack__``.

    The capsule is dropped, not consumed: its producer keeps the memory, and so
    must the caller keep ``x``.  Raises Unsupported or ValueError.
    """
    kind = int(x.__dlpack_device__()[0])
    if kind not in device_types:
        where = "host memory" if kind == CPU else "device memory"
        raise ValueError(
            f"{type(x).__name__} lies in {where} (DLPack device {kind}), where this backend can't reach: move it first"
        )
    capsule = x.__dlpack__()  # its end frees the description below: keep it until that is read
    tensor = _Tensor.from_address(_pointer(capsule, b"dltensor"))
    letter = _CODES.get(tensor.code)
    dtype = next((d for d in TABLE.values() if d.kind == letter and 8 * d.item_bytes == tensor.bits), None)
    if dtype is None or tensor.lanes != 1:
        raise Unsupported(f"DLPack type code {tensor.code} of {tensor.bits} bits is not one of {', '.join(TABLE)}")
    count, contiguous = 1, True
    for axis in reversed(range(tensor.ndim)):
        if tensor.strides and tensor.shape[axis] > 1 and tensor.strides[axis] != count:
            contiguous = False
        count *= tensor.shape[axis]
    if count and not contiguous:
        raise ValueError(f"{type(x).__name__} is not contiguous: pass x.contiguous() (or a copy)")
    return (tensor.data or 0) + tensor.byte_offset, count, dtype
