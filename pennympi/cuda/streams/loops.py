"""Loops that the GPU runs without the host: a graph with a conditional node, whose body repeats while a condition holds.

The body is captured once, from the launches of its functions.  The last kernel of each turn sets the condition.
"""

import ctypes
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy as np
from cuda.bindings import driver

from ...backend import Body
from ...errors import Unsupported
from ..compiler.launch import Failed, checked, library
from ..memory.setup_stream import beside_captures
from . import events
from .condition import THREADS, set_condition

WHILE_DRIVER = 12040  # the first driver with conditional nodes: CUDA 12.4
_RELAXED = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
_launch = library.cuGraphLaunch
_launch.argtypes = [ctypes.c_void_p] * 2
REMEDY = (
    "a loop's body can't be captured ({why}): it may hold kernels, copies, memsets, and calls and plans of this library "
    "(no waiting, event nodes, host functions or allocations by CUDA), and must join the streams that it forks"
)


class Repeat:
    """See ``pennympi.backend.Streams.repeat``.  The object keeps everything alive that its graph uses."""

    def __init__(self, parts: tuple[Any, Any, Any], start: Body, bodies: Sequence[Body], rest: int):
        self._order, compiler, self._peers = parts
        self._start, self._bodies, self._rest = start, bodies, rest
        self._pool = cupy.cuda.MemoryPool()  # memory of the loop alone, since the graph uses it whenever it runs
        self._condition = compiler.kernel(set_condition, "loop").prepare(1, (rest, 0), (0, 1), THREADS)
        self._is_device_driven = checked(driver.cuDriverGetVersion()) >= WHILE_DRIVER
        graph = self._captured(None, self._add if self._is_device_driven else self._turn)
        try:
            self._graph = int(checked(driver.cuGraphInstantiate(graph, 0)))
        except Failed as error:
            raise Unsupported(REMEDY.format(why=error)) from error
        finally:
            driver.cuGraphDestroy(graph)
        weakref.finalize(self, driver.cuGraphExecDestroy, driver.CUgraphExec(self._graph)).atexit = False
        self._word = np.frombuffer(cupy.cuda.alloc_pinned_memory(8), np.int64, 1)

    def __call__(self, stream: Any) -> None:
        """Run in stream order; during a capture, become a part of the graph."""
        handle = events.handle(stream)
        run = self._launch if self._is_device_driven else self._run_by_host
        if events.is_capturing(handle):
            if not self._is_device_driven:
                raise Unsupported("a loop can't be captured before CUDA driver 12.4: call it outside the graph")
            run = self._add
        self._order.enqueue(run, (stream,), handle, stream)

    def _launch(self, stream: Any, handle: int) -> None:
        if self._peers.abort[0]:
            self._peers.raise_failure()
        status = _launch(self._graph, handle)
        if status:
            checked((driver.CUresult(status),))

    def _run_by_host(self, stream: Any, handle: int) -> None:
        """Launch a graph of one turn, and read the condition after each: for drivers before ``WHILE_DRIVER``."""
        self._start(stream)
        self._word[0] = 0
        while not self._word[0]:
            self._launch(stream, handle)
            cupy.cuda.runtime.memcpyAsync(self._word.ctypes.data, self._rest, 8, cupy.cuda.runtime.memcpyDefault, handle)
            checked(driver.cuStreamSynchronize(handle))

    def _add(self, stream: Any, handle: int) -> None:
        """Add the loop after the nodes of the stream's capture."""
        with beside_captures():
            self._start(stream)
            context, graph = checked(driver.cuCtxGetCurrent()), events.captured(handle)[0]
            condition = checked(driver.cuGraphConditionalHandleCreate(graph, context, 0, 0))
            self._condition(self._rest, int(condition), handle)
            node = driver.CUgraphNodeParams()
            node.type = driver.CUgraphNodeType.CU_GRAPH_NODE_TYPE_CONDITIONAL
            node.conditional.handle, node.conditional.ctx, node.conditional.size = condition, context, 1
            node.conditional.type = driver.CUgraphConditionalNodeType.CU_GRAPH_COND_TYPE_WHILE
            events.add_node(handle, node)

            def turn(inner: Any, inner_handle: int) -> None:
                self._turn(inner, inner_handle)
                self._condition(self._rest, int(condition), inner_handle)

            self._captured(node.conditional.phGraph_out[0], turn)

    def _turn(self, stream: Any, handle: int) -> None:
        for body in self._bodies:
            body(stream)

    def _captured(self, graph: Any, run: Callable[[Any, int], None]) -> Any:
        """The graph (None: a new one) with the work that ``run`` enqueues.  Raises Unsupported and errors of ``run``."""
        error: Exception | None = None
        stream = events.make("normal")
        with beside_captures():
            if graph is None:
                checked(driver.cuStreamBeginCapture(stream.ptr, _RELAXED))
            else:
                checked(driver.cuStreamBeginCaptureToGraph(stream.ptr, graph, None, None, 0, _RELAXED))
            try:
                with self._order.body(stream.ptr), stream, cupy.cuda.using_allocator(self._pool.malloc):
                    run(stream, stream.ptr)
            except Exception as caught:
                error = caught
            status, result = driver.cuStreamEndCapture(stream.ptr)
        if int(status) and not isinstance(error, Unsupported):
            raise Unsupported(REMEDY.format(why=error or status)) from error
        if error is not None:
            raise error
        return result
