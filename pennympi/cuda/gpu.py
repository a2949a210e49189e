"""The compiler of GPU kernels, by the setting PENNYMPI_COMPILER: all that this folder takes of it."""

from ..settings import setting

if setting("PENNYMPI_COMPILER") == "mlir":
    from .mlir import VERSIONS, cgutils, cuda, device_function, intrinsic, ptx, types, without_device
else:
    from .numba_cuda import VERSIONS, cgutils, cuda, device_function, intrinsic, ptx, types, without_device

__all__ = ["VERSIONS", "cgutils", "cuda", "device_function", "intrinsic", "ptx", "types", "without_device"]
