"""From a bound text to a cubin, cached on disk."""

import zlib
from collections.abc import Callable
from functools import cache, partial
from types import FunctionType
from typing import Any

import numba
import numba_cuda
from numba import cuda

from ..arrays.dtypes import DType
from ..compile.bind import bind, call_source, parameters, text_hash
from ..compile.cache import folder, made_once
from ..kernels.algorithm import MAX_THREADS
from . import combine, multicast, packets, peers, primitives, remote
from .elements import accessors
from .elements import bodies as element_bodies
from .intrinsics import after_previous_kernel
from .words import register_steps, together

Bounds = tuple[int, int]  # threads of a block at most, blocks that a multiprocessor must be able to hold
BOUNDS: Bounds = (MAX_THREADS, 1)
HALVED: Bounds = (MAX_THREADS, 2)  # 64 registers a thread
OVERLAP_CC = (9, 0)  # from here on a kernel may be launched before the one in front of it has ended
device_function = partial(cuda.jit, device=True, forceinline=True)
_LETTERS = {"i": numba.int64, "f": numba.float64}
_LOCAL = (
    "block", "blocks", "lanes", "first", "sync", "add_shared", "arrive_last", "block_sum", "copy",
    "wait", "wait_all", "read_route", "read_epoch", "write_epoch",
)  # fmt: skip
_PACKETS = ("send_packets", "receive_packets", "all_to_all_packets")
_ADDED_PACKETS = ("combine_packets", "reduce_forward_packets", "receive_plus", "exchange_reduce_packets")
_MULTICAST = ("reduce_multicast", "store_multicast", "meet_multicast")
_PEER = ("put", "staged", "get", "put_signal", "fence", "signal", "signal_all")


def call_number(name: str) -> int:
    """What the record of a timeout holds for a kernel's name."""
    return zlib.crc32(name.encode())


@cache
def _primitive(body: FunctionType, fixed: tuple[tuple[str, Any], ...]) -> Any:
    """A primitive's body as a device function; kept, since its types are inferred once then."""
    return device_function(bind(body, {}, device_function, dict(fixed)))


def entry(
    text: Callable[..., Any],
    name: str,
    kinds: str,
    elements: DType | None,
    reduction: tuple[DType, str] | None,
    constants: dict[str, int],
    beyond: bool,
    aligned: bool = False,
    overlap: bool = False,
) -> tuple[FunctionType, Any]:
    """The kernel function and its signature: the text with its constants filled in.

    beyond:  some PE can't be reached by a pointer
    aligned: all arrays start at, and end on, multiples of 16 bytes
    overlap: may be launched while the kernel before it ends (from compute capability 9.0)
    """
    plain: dict[str, Any] = {primitive: getattr(primitives, primitive) for primitive in _LOCAL}
    plain |= {primitive: getattr(remote if beyond else peers, primitive) for primitive in _PEER}
    if beyond:
        plain |= {"wait": remote.wait, "wait_all": remote.wait_all}
    fixed: dict[str, Any] = {"CALL": call_number(name), "ALIGNED": aligned}
    if reduction:
        plain |= element_bodies(*reduction) | {"combine": combine.combine, "plus": combine.plus}
        plain["combine_put"] = remote.combine_put if beyond else combine.combine_put
        fixed |= {"ITEM_BYTES": reduction[0].item_bytes, **register_steps(*reduction, constants.get("n_pes", 0))}
    if not beyond:
        added = _ADDED_PACKETS if reduction else ()
        fixed |= together(constants.get("n_pes", 0))
        plain |= {primitive: getattr(packets, primitive) for primitive in (*_PACKETS, *added)}
    if reduction and not beyond:
        plain |= {primitive: getattr(multicast, primitive) for primitive in _MULTICAST}
        fixed |= multicast.switch_steps(*reduction)
    bodies = {key: _primitive(body, tuple(fixed.items())) for key, body in plain.items()}
    if elements:
        bodies |= accessors(elements)
    body = device_function(bind(text, bodies, device_function))
    names = parameters(text)
    open_names = [n for n in names if n not in constants]
    filled, free = call_source(text, constants)
    scope: dict[str, Any] = {"body": body, "after_previous_kernel": after_previous_kernel, "__name__": __name__, **free}
    begin = "after_previous_kernel()\n    " if overlap else ""
    kernel_name = "".join(c if c.isalnum() else "_" for c in name)
    exec(
        f"def {kernel_name}({', '.join(open_names)}):\n    {begin}body({filled})\n", scope
    )  # only a parameter list differs
    letters = "i" + kinds
    types = [_LETTERS[letter] for n, letter in zip(names, letters, strict=True) if n not in constants]
    return scope[kernel_name], numba.void(*types)


def _least(bounds: Bounds) -> int | Bounds:
    """The bounds as Numba takes them; one block is what a multiprocessor holds anyway."""
    return bounds if bounds[1] > 1 else bounds[0]


def ptx(function: FunctionType, signature: Any, cc: tuple[int, int], bounds: Bounds = BOUNDS) -> str:
    """The kernel as PTX.  Needs no GPU."""
    text, _ = cuda.compile(
        function, signature, device=False, cc=cc, output="ptx", abi="numba", launch_bounds=_least(bounds)
    )
    return text


def _linked(function: FunctionType, signature: Any, cc: tuple[int, int], bounds: Bounds) -> bytes:
    """The kernel as a cubin with NVSHMEM's device code linked in."""
    from cuda.core import Linker, LinkerOptions, ObjectCode

    parts, _ = cuda.compile_all(
        function, signature, device=False, cc=cc, output="ltoir", abi="numba", launch_bounds=_least(bounds)
    )
    codes = [part if isinstance(part, bytes) else part.data for part in parts]
    objects = [ObjectCode.from_ltoir(code) for code in (*codes, remote.shim(cc))]
    options = LinkerOptions(arch=f"sm_{cc[0]}{cc[1]}", link_time_optimization=True)
    return Linker(*objects, options=options).link("cubin").code


def _assembled(text: str, cc: tuple[int, int]) -> bytes:
    from cuda.core import Linker, LinkerOptions, ObjectCode

    options = LinkerOptions(arch=f"sm_{cc[0]}{cc[1]}")
    return Linker(ObjectCode.from_ptx(text.encode()), options=options).link("cubin").code


def cubin(
    text: Callable[..., Any],
    name: str,
    kinds: str,
    elements: DType | None,
    reduction: tuple[DType, str] | None,
    constants: dict[str, int],
    beyond: bool,
    aligned: bool,
    cc: tuple[int, int],
    bounds: Bounds = BOUNDS,
) -> bytes:
    """The text's machine code for a compute capability, from disk if it was made before."""
    baked = "_".join(f"{key}{value}" for key, value in sorted(constants.items()))
    typed = "_".join([elements.name if elements else "bytes", *((reduction[0].name, reduction[1]) if reduction else ())])
    label = f"{text.__module__}_{text.__qualname__}_{typed}_{kinds}_{baked}_{'aligned' if aligned else 'any'}"
    label += "_remote" if beyond else "_peers"
    label += "" if bounds == BOUNDS else f"_{bounds[0]}x{bounds[1]}"
    label = "".join(c if c.isalnum() else "_" for c in label)
    label = f"{label[:120]}_{zlib.crc32((label + name + text_hash(text)).encode()):08x}_sm{cc[0]}{cc[1]}.cubin"

    def make() -> bytes:
        function, signature = entry(text, name, kinds, elements, reduction, constants, beyond, aligned, cc >= OVERLAP_CC)
        if beyond:
            return _linked(function, signature, cc, bounds)
        return _assembled(ptx(function, signature, cc, bounds), cc)

    return made_once(label, folder(numba.__version__, numba_cuda.__version__), make)
