"""Run a program on this machine's CPUs and compile all of its kernels for a GPU as well, which need not be here.

    mpirun -np 2 python -m pennympi precompile sm_90 program.py ...
    mpirun -np 2 python -m pennympi precompile sm_90 -m pennympi bench allreduce -d all -o all -b 1K -e 64K

Use as many ranks as the program will have on GPUs, for the number of PEs is part of most kernels; the size of its arrays
hardly matters.  The machine code is kept in PENNYMPI_CACHE_DIR, where a run on GPUs with the same versions of this
library, Numba and numba-cuda finds it; the folder may be copied to another machine.  Of sweeps that is the plain and the
blocked engine, where the program names it and its depth.
"""

import argparse
import os
import re
from collections.abc import Callable
from typing import Any

from ..compile.options import PLAIN, KernelOptions
from .exit_status import WRONG_USE, Ended
from .run import arguments as add_program
from .run import execute, program_of
from .run import problem as problem

HELP = "run a program on CPUs, and compile its kernels for a GPU"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("arch", type=_arch, metavar="SM", help="architecture of the GPU, such as sm_90")
    text = "for PEs that no pointer reaches, which needs NVSHMEM's headers (default: for one node)"
    add("--beyond", action="store_true", help=text)
    add_program(parser)


def _arch(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(?:sm_)?([0-9]{1,2})([0-9])", text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not an architecture such as sm_90")
    return int(found[1]), int(found[2])


def run(args: argparse.Namespace) -> int:
    """Run the program.  Raises Ended."""
    try:
        _compile_too(args.arch, args.beyond)
    except ImportError as error:
        raise Ended(
            f"kernels can't be compiled for a GPU: {error}; in the clone: pip install '.[cuda12]'", WRONG_USE
        ) from None
    return execute(program_of(args))


def _compile_too(arch: tuple[int, int], remote: bool) -> None:
    """Let the host backend compile each kernel for a GPU, too.  Raises ImportError."""
    from ..cuda.compiler.compile import Target, cubin
    from ..cuda.compiler.gpu import without_device
    from ..host.runtime.compiler import Compiler
    from ..stencil.on_gpu import passes as gpu_sweep
    from ..stencil.sweep import passes
    from ..stencil.sweep.problem import NAME

    os.environ["PENNYMPI_BACKEND"] = "host"
    without_device(arch).start()
    on_host, pass_on_host = Compiler.kernel, passes.pass_kernel

    def kernel(compiler: Compiler, kernel: Callable[..., Any], name: str, options: KernelOptions = PLAIN) -> Any:
        if name != NAME:  # which has another kernel there
            cubin(kernel, name, options, Target(arch, remote))
        return on_host(compiler, kernel, name, options)

    def pass_kernel(problem: Any, size: int, norms: str) -> Any:
        if size <= gpu_sweep.deepest(problem.stencil):
            made = gpu_sweep.pass_kernel(problem.stencil, size, norms, problem.end)
            cubin(made.kernel, NAME, problem.options(made.bounds, made.shared_bytes), Target(arch, remote))
        return pass_on_host(problem, size, norms)

    Compiler.kernel = kernel  # type: ignore[assignment, method-assign]
    passes.pass_kernel = pass_kernel
