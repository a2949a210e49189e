"""Run a program on this machine's CPUs, and also compile all its kernels for a GPU, which this machine need not have.

    mpirun -np 2 python -m pennympi precompile sm_90 program.py ...
    mpirun -np 2 python -m pennympi precompile sm_90 -m pennympi bench allreduce -d all -o all -b 1K -e 64K

Use as many ranks as the program will have on GPUs, since the number of PEs is part of most kernels; the size of its
arrays hardly matters.  The machine code is kept in PENNYMPI_CACHE_DIR.  A run on GPUs loads it from there if it has the
same versions of this library, Numba and numba-cuda; the folder may be copied to another machine.  The kernels of sweeps
are those of the plain and the blocked engine, if the program names the engine and its depth.
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
    text = "compile for teams in which no pointer reaches some PEs, which needs NVSHMEM's headers (default: for one node)"
    add("--beyond", action="store_true", help=text)
    add_program(parser)


def _arch(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(?:sm_)?([0-9]{1,2})([0-9])", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!r} is not an architecture such as sm_90")
    return int(match[1]), int(match[2])


def run(args: argparse.Namespace) -> int:
    """Run the program.  Raises Ended."""
    try:
        _compile_for_gpu(args.arch, args.beyond)
    except ImportError as error:
        raise Ended(
            f"kernels can't be compiled for a GPU: {error}; in the clone: pip install '.[cuda12]'", WRONG_USE
        ) from None
    return execute(program_of(args))


def _compile_for_gpu(arch: tuple[int, int], remote: bool) -> None:
    """Let the host backend also compile each kernel for a GPU.  Raises ImportError."""
    from ..cuda.compiler.compile import Target, cubin
    from ..cuda.compiler.gpu import without_device
    from ..host.runtime.compiler import Compiler
    from ..kernels.sweep.exchanging import exchanging_pass
    from ..stencil.on_gpu import passes as gpu_sweep
    from ..stencil.sweep import passes
    from ..stencil.sweep.problem import NAME

    os.environ["PENNYMPI_BACKEND"] = "host"
    without_device(arch).start()
    on_host, pass_on_host = Compiler.kernel, passes.pass_kernel

    def kernel(compiler: Compiler, kernel: Callable[..., Any], name: str, options: KernelOptions = PLAIN) -> Any:
        if name != NAME:  # sweeps have different kernels on a GPU
            cubin(kernel, name, options, Target(arch, remote))
        return on_host(compiler, kernel, name, options)

    def pass_kernel(problem: Any, size: int, norms: str) -> Any:
        if size <= gpu_sweep.most_sweeps(problem.stencil):
            exchanges = any(problem.sides)
            gpu_pass = gpu_sweep.pass_kernel(problem.stencil, size, norms, problem.end, exchanges)
            kernel = exchanging_pass(gpu_pass.kernel) if exchanges else gpu_pass.kernel
            cubin(kernel, NAME, problem.options(gpu_pass.bounds, gpu_pass.shared_bytes), Target(arch, remote))
        return pass_on_host(problem, size, norms)

    Compiler.kernel = kernel  # type: ignore[assignment, method-assign]
    passes.pass_kernel = pass_kernel
