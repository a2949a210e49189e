"""``python -m pennympi precompile``: machine code for a GPU, compiled by a program that runs without a GPU."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")
ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys
import pennympi
from pennympi.kernels.block import lanes, real, store
def fill(ctx, x, n):
    for i in lanes(0, n):
        store(x, i, 3.0)
def mean(u, x_minus, x_plus):
    return real(0.5) * (x_minus + x_plus)
with pennympi.init() as team:
    grid = team.grid(50, halo=2)
    grid.plan_sweep(mean, grid.zeros("float32"), grid.zeros("float32"), 3, norm=True, engine="blocked")
    x = team.zeros(100, "float32")
    team.kernel(fill, "float32")(1, x, 100)
    print(sys.argv[1:], __name__, float(x.sum()))
"""
# Not through a backend, which needs a GPU: the compiled kernels must be those that it looks for.
FOUND = """
import sys, runpy
from pennympi.compile import cache
from pennympi.cuda.compiler.compile import Target, cubin
from pennympi.compile.options import KernelOptions
from pennympi.kernels import rma
cache._write = None
for name in ("put_bytes", "get_bytes", "put_bytes_signal", "wait_signal"):
    code = cubin(getattr(rma, name), name.replace("_bytes", ""), KernelOptions(), Target((9, 0)))
    assert code.startswith(b"\\x7fELF")
"""


@pytest.mark.slow
def test_a_program_compiles_for_a_gpu_that_is_not_here(tmp_path):
    program, folder = tmp_path / "program.py", tmp_path / "cache"
    program.write_text(PROGRAM)
    env = os.environ | {"PENNYMPI_CACHE_DIR": str(folder), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pennympi", "precompile", "sm_90", str(program), "--some", "option"]
    ended = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0 and ended.stdout == "['--some', 'option'] __main__ 300.0\n", ended
    made = [path for path in folder.iterdir() if path.name.startswith("sm90_")]
    assert all(any(part in path.name for path in made) for part in ("fill_float32", "stencil_on_gpu", "clear_words"))
    assert len(made) == 9
    ended = subprocess.run([sys.executable, "-c", FOUND], env=env, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stderr
