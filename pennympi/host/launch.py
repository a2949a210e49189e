"""Launching a compiled kernel on a CPU: a call, then a look at whether one of its waits gave up."""

import ctypes
import zlib
from collections.abc import Callable, Sequence
from typing import Any

from ..arrays.dtypes import DType
from ..backend import Run
from ..compile import context as ctx_words
from ..compile.arithmetic import CLOSE, PLUS, STEPS
from .compile import loop_address

GAVE_UP = ctx_words.GAVE_UP


class HostKernel:
    """A compiled kernel and what ``ctx`` must hold while it runs.

    residual: its calls pass a residual, which other element loops add
    """

    def __init__(
        self,
        backend: Any,
        compiled: Callable[..., None],
        name: str,
        reduction: tuple[DType, str] | None,
        residual: bool = False,
    ):
        self._backend, self._compiled = backend, compiled
        words = [zlib.crc32(name.encode())]
        if reduction:
            words += [loop_address(step, *reduction) for step in STEPS]
            words += [reduction[0].item_bytes, reduction[0].acc_bytes]
        if reduction and residual:
            dtype, op = reduction
            words += [loop_address(step, dtype, what) for step, what in ((CLOSE, op), ("finish", "sum"), (PLUS, "sum"))]
        backend.call_names[words[0]] = name
        self._words = (ctypes.c_int64 * len(words))(*words)
        self._at = backend.ctx_address + 8 * ctx_words.CALL, ctypes.addressof(self._words), ctypes.sizeof(self._words)
        self._ctx = memoryview(backend.ctx)  # read faster than an array

    def launch(self, blocks: int, args: Sequence[int | float], stream: int, threads: int = 0) -> None:
        """Run the kernel and return when it has ended.  Raises PeerTimeout; nothing runs if an earlier wait gave up."""
        ctx = self._ctx
        if not ctx[GAVE_UP]:
            ctypes.memmove(*self._at)
            self._compiled(blocks, self._backend.ctx_address, *args)
        if ctx[GAVE_UP]:
            raise self._backend.failure()

    def prepare(self, blocks: int, args: Sequence[int | float], left_open: tuple[int, ...], threads: int = 0) -> Run:
        """The launch with the arguments of the indices ``left_open`` to be given at each call."""
        values = list(args)

        def run(*given: int) -> None:
            for i, value in zip(left_open, given, strict=False):  # the last one is the stream
                values[i] = value
            self.launch(blocks, values, given[-1])

        return run
