"""Launches a cubin through the driver, with arguments packed in advance.

Numba's dispatcher takes 20 to 145 us of host time for a launch; this file takes about 1 us more than the driver.
"""

import ctypes
import re
import struct
from collections.abc import Callable, Sequence
from typing import Any

from cuda.bindings import driver

from ...backend import Run
from ...compile.bind import parameters
from ...compile.options import KernelOptions
from ...errors import PennympiError
from ...kernels.algorithm import MAX_THREADS
from ...once import once
from ...wall_time import timed


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute: a kind, and a union of 64 bytes."""

    _fields_ = [("id", ctypes.c_int), ("pad", ctypes.c_int), ("values", ctypes.c_uint * 16)]


class _Configuration(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("n_attributes", ctypes.c_uint),
    ]


Extent = int | tuple[int, int, int]  # size of a grid or block: x, or x, y, z
MOST_CONFIGURATIONS = 256  # launch configurations of a kernel that are kept
_PROGRAMMATIC_STREAM_SERIALIZATION = 6
# By ctypes, since cuda.bindings checks and copies the configuration at each launch, which takes 5 us.
library = ctypes.CDLL("libcuda.so.1")
_launch = library.cuLaunchKernelEx
_launch.argtypes = [ctypes.POINTER(_Configuration), ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]


def _three(extent: Extent) -> tuple[int, int, int]:
    return extent if isinstance(extent, tuple) else (extent, 1, 1)


def configuration(blocks: Extent, threads: Extent, overlap: bool, shared_bytes: int = 0) -> _Configuration:
    """A launch configuration; its stream is set at each launch.

    overlap: programmatic dependent launch: the kernel starts before the previous kernel ends, and waits for its end in
             its first instruction (``after_previous_kernel``)
    """
    attributes = [_Attribute(_PROGRAMMATIC_STREAM_SERIALIZATION, 0, (1,))] if overlap else []
    config = _Configuration(_three(blocks), _three(threads), shared_bytes)
    if attributes:
        config.attributes = (_Attribute * len(attributes))(*attributes)
        config.n_attributes = len(attributes)
    return config


class Failed(PennympiError, RuntimeError):
    """A call of the CUDA driver failed."""


def checked(result: tuple[Any, ...]) -> Any:
    """The value of a driver call.  Raises Failed with the driver's name for the error."""
    if int(result[0]) != 0:
        raise Failed(
            f"the CUDA driver answered {result[0]!r}; the device may be out of memory, or an earlier kernel failed"
        )
    return result[1] if len(result) == 2 else result[1:]


class CudaKernel:
    """A loaded kernel.

    The arguments lie in one ctypes array.  The driver copies them at the launch, so that the array can be used again.
    """

    def __init__(
        self, peers: Any, function: int, kernel: Callable[..., Any], options: KernelOptions, overlap: bool = False
    ):
        self._peers, self._function, self._overlap = peers, function, overlap
        self._shared_bytes = options.shared_bytes
        if options.shared_bytes:
            attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            # All kernels with this code share the function, and another kernel may need more.
            if options.shared_bytes > checked(driver.cuFuncGetAttribute(attribute, self._function)):
                checked(driver.cuFuncSetAttribute(self._function, attribute, options.shared_bytes))
        names, kinds = parameters(kernel)[1:], options.kinds_of(kernel)
        self._kept = [i for i, n in enumerate(names) if n not in options.constants]
        self._layout = struct.Struct("=" + "".join("d" if kinds[i] == "f" else "q" for i in self._kept))
        self._words, self._pointers = self._pack([0] * len(names))
        self._pointers_address = ctypes.addressof(self._pointers)
        self._configurations: dict[tuple[Extent, Extent], Any] = {}

    def _pack(self, args: Sequence[int | float]) -> tuple[Any, Any]:
        """(argument words, array of pointers to them), ``ctx`` first."""
        n = 1 + len(self._kept)
        words = (ctypes.c_int64 * n)(self._peers.ctx_address)
        pointers = (ctypes.c_void_p * n)(*(ctypes.addressof(words) + 8 * i for i in range(n)))
        self._fill(words, args)
        return words, pointers

    def _fill(self, words: Any, args: Sequence[int | float]) -> None:
        """Write the arguments that are not constants to the words after ``ctx``."""
        self._layout.pack_into(words, 8, *(args if len(args) == len(self._kept) else [args[i] for i in self._kept]))

    def launch(self, blocks: Extent, args: Sequence[int | float], stream: int, threads: Extent = 0) -> None:
        """Run in stream order.  Raises PeerTimeout if an earlier wait gave up, Failed."""
        if self._peers.abort[0]:
            self._peers.raise_failure()
        self._peers.launches += 1
        key = (blocks, threads or MAX_THREADS)
        with self._peers.lock:  # all threads share the words
            self._fill(self._words, args)
            config = self._configurations.get(key)
            if config is None:
                if len(self._configurations) > MOST_CONFIGURATIONS:
                    self._configurations.clear()
                config = self._configurations[key] = configuration(*key, self._overlap, self._shared_bytes)
            config.stream = stream
            status = _launch(config, self._function, self._pointers_address, None)
        if status:
            checked((driver.CUresult(status),))

    def prepare(
        self, blocks: Extent, args: Sequence[int | float], left_open: tuple[int, ...], threads: Extent = 0
    ) -> Run:
        """A function that launches with new values of the arguments ``left_open`` (indices) at each call."""
        words, pointers = self._pack(args)
        pointers_address, function = ctypes.addressof(pointers), self._function
        config = configuration(blocks, threads or MAX_THREADS, self._overlap, self._shared_bytes)
        first_word, second_word, *more_words = (self._kept.index(index) + 1 for index in left_open)
        peers, abort, launch, reference = self._peers, self._peers.abort, _launch, ctypes.byref(config)

        def run(first: int, second: int, stream: int) -> None:
            if abort[0]:
                peers.raise_failure()
            words[first_word] = first
            words[second_word] = second
            config.stream = stream
            status = launch(reference, function, pointers_address, None)
            if status:
                checked((driver.CUresult(status),))

        def run_with_more(first: int, second: int, *more_and_stream: int) -> None:
            for word, value in zip(more_words, more_and_stream, strict=False):
                words[word] = value
            run(first, second, more_and_stream[-1])

        run.keep = (words, pointers)  # type: ignore[attr-defined]
        return run_with_more if more_words else run


@once
def load(code: bytes, on_load: Callable[[int], None] | None) -> int:
    """The function of a cubin, loaded once in a process, since CUDA loads only when all work in flight has finished.

    on_load: called with the module's handle
    """
    with timed("kernels: loaded"):
        # Not by cuda.core's ObjectCode, which needs two more calls to get module and function from its CUlibrary.
        module = checked(driver.cuModuleLoadData(code))
        if on_load:
            on_load(int(module))
        return int(checked(driver.cuModuleGetFunction(module, code_entry(code))))


def code_entry(code: bytes) -> bytes:
    """Name of the kernel in a cubin: that of the ELF section ".text.NAME" which is not a helper of CUDA."""
    names = re.findall(rb"\0\.text\.([^\0]+)", code)
    return next(name for name in names if not name.startswith(b"__cuda"))
