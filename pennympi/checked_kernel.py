"""A kernel of an application that checks each access against the arrays of its launch."""

from collections.abc import Sequence
from dataclasses import replace
from threading import Lock
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from .arrays.dtypes import TABLE
from .collectives.base import CollectiveContext
from .compile.bounds import ARRAY_WORDS, ARRAYS, NOT_SYMMETRIC, RECORD_WORDS
from .compile.checked import Site, checked
from .compile.options import KernelOptions
from .errors import OutOfBounds, PennympiError

WORD_BYTES = 8
LEAST_ADDRESS = 1 << 32  # an int argument above this number may be an address


class Extent(NamedTuple):
    """The array of an argument: the argument is the array, or an int that is an address in the array.

    address: address of the array;  nbytes: size of the array
    An argument that is another number has nbytes -1; ``address`` is then the number, or 0 for a float.
    """

    name: str
    address: int
    nbytes: int
    is_symmetric: bool


class CheckedKernel:
    """The machine code for one kind of arguments.  Each launch waits for its end.

    Raises StaticError if the text of a function can't be read.
    """

    def __init__(self, context: CollectiveContext, kernel: FunctionType, name: str, options: KernelOptions):
        self._backend, self._name, self._n_pes = context.backend, name, context.job.n_pes
        copy, self._sites = checked(kernel)
        self._kernel = self._backend.compiler.kernel(copy, name, replace(options, kinds=f"{options.kinds}i"))
        assert options.elements is not None
        self._item_bytes, n_words = options.elements.item_bytes, ARRAYS + ARRAY_WORDS * len(options.kinds)
        self._words = self._backend.heap.new((n_words,), TABLE["int64"], self._backend.streams.handle(None))
        self._address, self._lock = self._backend.heap.array_view(self._words, True).address, Lock()

    def launch(self, blocks: int, values: list[Any], extents: Sequence[Extent], stream: Any, threads: int) -> None:
        """Run the kernel and wait for its end.  Raises OutOfBounds, PeerTimeout."""
        arrays = [extent for extent in extents if extent.nbytes >= 0]
        unknown_memory = any(extent.address > LEAST_ADDRESS and extent.nbytes < 0 for extent in extents)
        bounds = [*[0] * RECORD_WORDS, self._n_pes, self._item_bytes, int(unknown_memory), len(arrays)]
        bounds += [int(number) for _, *numbers in arrays for number in numbers]
        streams, failure = self._backend.streams, None
        with self._lock:
            self._backend.heap.copy_in(self._address, np.array(bounds, np.int64))
            try:
                self._kernel.launch(blocks, [*values, self._address], streams.handle(stream), threads)
                streams.synchronize(streams.current() if stream is None else stream)
            except PennympiError as error:  # a wait may have given up because an access was left out
                failure = error
            taken, site, base, offset, nbytes = self._words[:RECORD_WORDS].tolist()
        if taken:
            raise OutOfBounds(self._text_of(self._sites[site], base, offset, nbytes, arrays)) from failure
        if failure:
            raise failure

    def _text_of(self, site: Site, base: int, offset: int, nbytes: int, arrays: list[Extent]) -> str:
        """The text of the error."""
        call = f"{site.place}: {site.call} in kernel {self._name}"
        if not nbytes:
            return f"{call}: {site.operand} is {base}, and the team has PEs 0 to {self._n_pes - 1}"
        if nbytes == NOT_SYMMETRIC:
            return f"{call}: {site.argument} is not symmetric, so a peer has no instance of it: use team.zeros"
        if not arrays:
            return f"{call}: the launch has no arrays"
        distances = [max(extent.address - base, base + 1 - extent.address - extent.nbytes, 0) for extent in arrays]
        nearest = [extent for extent, distance in zip(arrays, distances, strict=True) if distance == min(distances)]
        array = next((extent for extent in nearest if extent.name == site.argument), nearest[0])
        first = base + offset - array.address
        unit = self._item_bytes if site.primitive in ("load", "store") else WORD_BYTES
        if nbytes == unit and first % unit == 0:
            return f"{call}: index {first // unit} of {array.name}, which has {array.nbytes // unit} elements"
        return f"{call}: bytes {first} to {first + nbytes - 1} of {array.name}, which has {array.nbytes} bytes"
