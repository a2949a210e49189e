"""The element loops of a GPU without a GPU: which instruction runs at which address, and how the rare one is compiled."""

import re
from types import FunctionType, SimpleNamespace

import pytest

pytest.importorskip("numba_cuda", reason="numba-cuda is not installed")

from pennympi.arrays.dtypes import TABLE
from pennympi.compile.arithmetic import STEPS
from pennympi.cuda.compiler.gpu import cuda, types
from pennympi.cuda.device.elements import implementations

LOOPS = [step for step in STEPS if step != "to_partials"]  # the body of to_partials is a call of another step's loop
THREADS = 3


def accesses(step, dtype, dst, part, src, count):
    """(instruction, element) of each access of the loop, each at an address that it may have."""
    loop = implementations(dtype, "sum")[step]
    scope, ran = loop.__globals__, []
    sizes = {at: scope[f"{name}_BYTES"] for at, name in ((dst, "DST"), (part, "PART"), (src, "SRC"))}

    def instruction(name, width):
        def run(*addresses):
            at = addresses[:3]
            low = (at[0] - dst) // sizes[dst]
            assert all(one == base + low * sizes[base] for one, base in zip(at, (dst, part, src), strict=True))
            for one, base in zip(at, (dst, part, src), strict=True):
                assert name == "shifted" or one % (16 if name == "wide" else sizes[base]) == 0, "a misaligned address"
            ran.extend((name, low + k) for k in range(width))

        return run

    for thread in range(THREADS):
        fakes = {
            "cuda": SimpleNamespace(
                threadIdx=SimpleNamespace(x=thread), blockDim=SimpleNamespace(x=THREADS), syncthreads=lambda: None
            ),
            "load_word": lambda address: 2,
            "ALIGNED": False,
            "wide": instruction("wide", scope["WIDTH"]),
            "single": instruction("single", 1),
            "shifted": instruction("shifted", 1),
        }
        FunctionType(loop.__code__, scope | fakes)(0, dst, part, src, count)
    return ran


@pytest.mark.parametrize("step", LOOPS)
@pytest.mark.parametrize("name", ["int8", "float16", "float32", "float64"])
def test_every_element_once_by_what_its_address_allows(step, name):
    dtype, count = TABLE[name], 41
    for shifts in ((0, 0, 0), (1, 0, 0), (0, 0, 1), (0, 0, dtype.item_bytes), (4, 4, 4), (3, 8, 2)):
        dst, part, src = (base + shift for base, shift in zip((1 << 10, 1 << 12, 1 << 14), shifts, strict=True))
        ran = accesses(step, dtype, dst, part, src, count)
        assert sorted(element for _, element in ran) == list(range(count))
        used = {one for one, _ in ran}
        assert ("wide" in used) == (not any(shift % 16 for shift in shifts))
        if shifts == (0, 0, dtype.item_bytes) and dtype.item_bytes == dtype.acc_bytes:
            assert used == {"single"}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "int64"])
def test_a_shifted_element_moves_byte_by_byte(step, name):
    loop = implementations(TABLE[name], "avg")[step]
    shifted = (loop.__globals__["elements"] if step == "to_partials" else loop).__globals__["shifted"]
    code, _ = cuda.compile(lambda dst, part, src: shifted(dst, part, src, 3), types.void(*[types.int64] * 3), cc=(9, 0))
    moved = re.findall(r"\b(?:ld|st)\.(?:global\.)?(?!param)(\S+)", code)
    assert {kind for kind in moved if not kind.startswith("param")} == {"u8"}, moved
    assert ".local" not in code
