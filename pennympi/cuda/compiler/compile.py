"""Compiles a kernel to a cubin, with a cache on disk."""

import re
import zlib
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import FunctionType
from typing import Any, NamedTuple

from ...compile import context as ctx_words
from ...compile.bind import bind, call_source, helpers, is_tagged, names_reached, parameters
from ...compile.cache import announced, made_once
from ...compile.digest import kernel_hash, keyed
from ...compile.options import BOUNDS, KernelOptions, LaunchBounds
from ...compile.unroll import unrolled
from ...kernels.algorithm import MAX_THREADS
from ..device import combine, line_packets, lines, multicast, packets, pointers, primitives, remote, waits
from ..device.elements import accessors
from ..device.elements import implementations as element_implementations
from ..device.intrinsics import after_previous_kernel
from ..device.register_steps import register_steps, together
from .gpu import VERSIONS, device_function, ptx, types

HALVED = LaunchBounds(MAX_THREADS, 2)  # at most 64 registers of a thread
MOST_REGISTERS = 80  # registers of a thread with which a block of 512 leaves three eighths of its multiprocessor free
OVERLAP_CC = (9, 0)  # compute capability from which a kernel may be launched before the previous kernel has ended
MOST_KEPT, OWN = 4096, "pennympi."  # kept device functions of a process, and the prefix of their modules
Items = tuple[tuple[str, Any], ...]
_LETTERS = {"i": types.int64, "f": types.float64}
# {module: its implementations of primitives}: for all kernels; for kernels that reach all PEs by pointers; for kernels
# that do not; for kernels that reach all PEs by pointers and reduce.
_COMMON = {
    primitives: (
        "block", "blocks", "lanes", "single_thread", "is_leader", "sync", "add_shared", "arrive", "arrive_last",
        "wait_arrivals", "lock", "unlock", "block_sum", "add_block_sums", "product", "multiply_add", "bits", "copy",
        "read_peer", "read_epoch", "write_epoch", "note_access",
    ),
    waits: ("wait", "wait_all", "refuse_count", "missing_line"),
    packets: ("send_packets", "receive_packets"),
    line_packets: ("send_lines", "receive_lines"),
    lines: ("put_lines",),
}  # fmt: skip
_TO_PEERS = ("put", "stage_for_put", "get", "put_signal", "fence", "signal", "signal_all")
_BY_POINTER = {pointers: _TO_PEERS, packets: ("all_to_all_packets",)}
_BY_NVSHMEM = {  # these waits complete puts if they give up
    remote: (*_TO_PEERS, "wait", "wait_all", "receive_packets", "receive_lines"),
}
_REDUCE_BY_POINTER = {
    packets: ("combine_packets", "reduce_forward_packets", "receive_plus", "exchange_reduce_packets"),
    multicast: ("store_multicast", "meet_multicast"),
}


class Target(NamedTuple):
    """The GPU and the team that a kernel is compiled for.

    cc:     compute capability of the GPU
    remote: no pointer reaches some PE of the team
    """

    cc: tuple[int, int]
    remote: bool = False

    @property
    def overlap(self) -> bool:
        """Whether the kernel may be launched before the previous kernel has ended."""
        return self.cc >= OVERLAP_CC


def call_number(name: str) -> int:
    """The number of a kernel's name in the record of a timeout."""
    return zlib.crc32(name.encode())


@lru_cache(MOST_KEPT)
def _device(function: FunctionType, implementations: Items, fixed: Items) -> Any:
    """A function as a device function; kept, since type inference takes nearly all of the time of a compilation."""
    scope = dict(implementations), dict(fixed)
    return device_function(bind(function, scope[0], device_function, scope[1], compiled=_helpers(function, *scope)))


def _kept(function: FunctionType, implementations: Mapping[str, Any], fixed: Mapping[str, Any]) -> Any:
    """``_device`` of a function with those implementations and numbers that it reaches."""
    reached = names_reached(function)
    return _device(
        function, *(tuple((k, v) for k, v in scope.items() if k in reached) for scope in (implementations, fixed))
    )


def _helpers(kernel: Callable[..., Any], implementations: Mapping[str, Any], fixed: Mapping[str, Any]) -> dict[Any, Any]:
    """The device functions of those functions of this library that a kernel calls.

    Functions of the user are not kept, since their globals may have other values the next time.
    """
    called = [function for function in helpers(kernel) if function.__module__.startswith(OWN)]
    return {function: _kept(keyed(function), implementations, fixed) for function in called}


def _implementations(name: str, tagged: bool, options: KernelOptions, target: Target) -> dict[str, Any]:
    """{primitive that a kernel with these options may call: its compiled form}.  tagged: ``bind.is_tagged``"""
    reduction, n_pes, by_pointer = options.reduction, options.constants.get("n_pes", 0), not target.remote
    tables = [_COMMON, _BY_POINTER if by_pointer else _BY_NVSHMEM]
    if by_pointer and reduction:
        tables.append(_REDUCE_BY_POINTER)
    plain = {name: getattr(module, name) for table in tables for module, names in table.items() for name in names}
    fixed: dict[str, Any] = {"TAGGED": tagged, "ALIGNED": options.aligned}
    fixed["CALL"] = call_number(name) + tagged * ctx_words.TAGGED
    if reduction:
        plain |= element_implementations(*reduction) | {"combine": combine.combine, "plus": combine.plus}
        plain["combine_put"] = combine.combine_put if by_pointer else remote.combine_put
        fixed |= {"ITEM_BYTES": reduction[0].item_bytes, **register_steps(*reduction, n_pes)}
    if by_pointer:
        fixed |= together(n_pes)
    if by_pointer and reduction and (by_switch := multicast.switch_steps(*reduction)):
        fixed |= by_switch
        plain["reduce_multicast"] = multicast.reduce_multicast
    compiled = {primitive: _kept(unrolled(body), {}, fixed) for primitive, body in plain.items()}
    return compiled | (accessors(options.elements) if options.elements else {})


def entry(kernel: Callable[..., Any], name: str, options: KernelOptions, target: Target) -> tuple[FunctionType, Any]:
    """The function that is launched, which calls the kernel with the constants inserted, and its signature."""
    kernel = unrolled(kernel)
    implementations = _implementations(name, is_tagged(kernel), options, target)
    body = device_function(bind(kernel, implementations, device_function, compiled=_helpers(kernel, implementations, {})))
    names, constants = parameters(kernel), options.constants
    open_names = [n for n in names if n not in constants]
    arguments, records = call_source(kernel, constants)
    scope: dict[str, Any] = {  # names that end in _ differ from all parameters
        "body_": body, "after_previous_kernel_": after_previous_kernel, "__name__": __name__, **records
    }  # fmt: skip
    begin = "after_previous_kernel_()\n    " if target.overlap else ""
    function_name = "".join(c if c.isalnum() else "_" for c in name)
    # By exec, since the functions of all kernels differ only in names and parameters.
    exec(f"def {function_name}({', '.join(open_names)}):\n    {begin}body_({arguments})\n", scope)
    letters = "i" + options.kinds_of(kernel)
    kinds = [_LETTERS[letter] for n, letter in zip(names, letters, strict=True) if n not in constants]
    return scope[function_name], types.void(*kinds)


def _assembled(code: str, cc: tuple[int, int], *libraries: bytes) -> bytes:
    """PTX as a cubin, linked with the cubins ``libraries``."""
    from cuda.core import Linker, LinkerOptions, ObjectCode

    objects = [ObjectCode.from_ptx(code.encode()), *map(ObjectCode.from_cubin, libraries)]
    return Linker(*objects, options=LinkerOptions(arch=f"sm_{cc[0]}{cc[1]}")).link("cubin").code


def registers(code: bytes) -> int:
    """Registers of a thread of a cubin's kernel, by EIATTR_REGCOUNT; the functions that it calls use at most as many."""
    return max(int.from_bytes(count, "little") for count in re.findall(rb"\x04\x2f\x08\x00.{4}(.{4})", code, re.DOTALL))


def cubin(kernel: Callable[..., Any], name: str, options: KernelOptions, target: Target) -> bytes:
    """The kernel's machine code, from disk if an earlier process compiled it.  Needs no GPU."""
    bounds, cc = _bounds(options, target), target.cc

    def make() -> bytes:
        function, signature = entry(kernel, name, options, target)
        libraries = [remote.shim(cc)] if target.remote else []
        code = _assembled(ptx(function, signature, cc, bounds, options.fused), cc, *libraries)
        if options.bounds is None and registers(code) > MOST_REGISTERS:
            # Only for kernels that exceed the limit, since the bound would make other kernels 5 % slower at 16 MiB.
            code = _assembled(ptx(function, signature, cc, HALVED, options.fused), cc, *libraries)
        return code

    label = _label(kernel, options, target)
    versions = [*VERSIONS, *([remote.nvshmem_version()] if target.remote else [])]
    key = kernel_hash(kernel, portable=True)
    if key:
        return made_once(label, (*versions, label, name, key), make, kernel.__name__)
    with announced(kernel.__name__):
        return make()


def _bounds(options: KernelOptions, target: Target) -> LaunchBounds:
    """The launch bounds.  Without a bound, a kernel that calls the shim has more registers than MOST_REGISTERS."""
    return options.bounds or (HALVED if target.remote else BOUNDS)


def _label(kernel: Callable[..., Any], options: KernelOptions, target: Target) -> str:
    """All inputs of the machine code besides the kernel's text and the name of the call."""
    reduction = options.reduction
    typed = [
        options.elements.name if options.elements else "bytes",
        *((reduction[0].name, reduction[1]) if reduction else ()),
    ]
    return "_".join(
        [
            f"sm{target.cc[0]}{target.cc[1]}",
            kernel.__module__,
            kernel.__qualname__,
            *typed,
            options.kinds_of(kernel),
            *(f"{key}{value}" for key, value in sorted(options.constants.items())),
            "aligned" if options.aligned else "any",
            "remote" if target.remote else "peers",
            *((f"{options.bounds.max_threads}x{options.bounds.min_blocks}",) if options.bounds else ()),
            *(() if options.fused else ("unfused",)),
        ]
    )
