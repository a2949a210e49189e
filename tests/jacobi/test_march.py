"""T sweeps a pass: ``march`` of a GPU's warp, executed in NumPy, and of a CPU, against plain sweeps.

The kernel that exchanges halos runs on the machine (``machine/solver.py``)."""

import numpy as np
import pytest
from warp import Warp

from apps.jacobi.norm.exact_sum import BAD_WORD, COPIES, FRACTION_BITS, WORDS, segment_columns
from apps.jacobi.norm.norm import total_of
from apps.jacobi.sweep import kernels, march_host
from apps.jacobi.sweep.records import FieldPair, Pass, Rows

SUMMED = {"none": 0, "last": 1}


def pitch_of(nx, dtype):
    """Bytes from a row to the next."""
    return -(-nx * np.dtype(dtype).itemsize // 128) * 128


def field(rows, nx, sweeps, dtype):
    """Random rows with halos of ``sweeps`` rows (and spare rows below), among them denormal numbers and zeros."""
    old = np.zeros((rows + 2 * sweeps + 4, pitch_of(nx, dtype) // np.dtype(dtype).itemsize), dtype)
    random = np.random.default_rng([rows, nx, sweeps])
    old[:, :nx] = random.standard_normal((len(old), nx)) * random.choice([1.0, 1e-3, 1e-38, 0.0], (len(old), nx))
    return old


def swept(old, nx, sweeps):
    """The fields after 0, 1, ..., ``sweeps`` plain sweeps."""
    steps = [old.copy()]
    for _ in range(sweeps):
        c, d = steps[-1], steps[-1].copy()
        neighbours = ((c[1:-1, 2:nx] + c[1:-1, : nx - 2]) + c[2:, 1 : nx - 1]) + c[:-2, 1 : nx - 1]
        d[1:-1, 1 : nx - 1] = old.dtype.type(0.25) * neighbours
        steps.append(d)
    return steps


def totals(words):
    """The exact sum of each level as an integer, from words (levels, copies, WORDS)."""
    return [total_of(sums) for sums in words.sum(axis=1).tolist()]


def by_host(team, sweeps, norms, old, nx, rows, chunk):
    """(new, words) from ``march`` of a CPU."""
    new, words = old.copy(), np.zeros((sweeps, 1, WORDS), "i8")
    kernel = team.kernel(kernels.bound(kernels.sweeps, "host", 1, "none", old.dtype.name, 3), old.dtype)
    scratch = np.zeros(march_host.scratch_bytes(sweeps, old.dtype.name), "u1")
    work = Pass(sweeps, SUMMED.get(norms, sweeps), words.ctypes.data, scratch.ctypes.data)
    fields = FieldPair(new.ctypes.data, old.ctypes.data, nx, old.strides[0])
    kernel(1, fields, Rows(sweeps, sweeps + rows, chunk, chunk), work)
    return new, words


def by_warps(sweeps, norms, old, nx, rows, chunk):
    """(new, words) from ``march`` of a GPU's warps."""
    words = np.zeros((sweeps, COPIES, WORDS), "i8")
    memory = np.concatenate([x.reshape(-1).view("u1") for x in (old, old, words)])
    march = Warp(memory, old.dtype)._march(sweeps, norms, nx)
    for b in range(-(-nx // segment_columns(old.dtype.name)) * -(-rows // chunk)):
        fields, band = FieldPair(old.nbytes, 0, nx, old.strides[0]), Rows(sweeps, sweeps + rows, chunk, chunk)
        march(b, fields, band, Pass(sweeps, 0, 2 * old.nbytes, 0))
    new, words = memory[old.nbytes : 2 * old.nbytes], memory[2 * old.nbytes :]
    return new.view(old.dtype).reshape(old.shape), words.view("i8").reshape(sweeps, COPIES, WORDS)


CASES = [  # sweeps, dtype, nx, rows, rows of a chunk
    (1, "float32", 3, 5, 5),
    (1, "float64", 115, 4, 2),
    (2, "float32", 243, 7, 3),
    (2, "float64", 3, 3, 3),
    (4, "float32", 17, 10, 4),
    (4, "float64", 226, 7, 7),
    (6, "float32", 481, 8, 8),
    (8, "float32", 240, 11, 5),
    (8, "float64", 112, 9, 9),
]


@pytest.mark.parametrize(("sweeps", "dtype", "nx", "rows", "chunk"), CASES)
def test_bodies_are_bit_exact(team, sweeps, dtype, nx, rows, chunk):
    old = field(rows, nx, sweeps, dtype)
    steps = swept(old, nx, sweeps)
    own = slice(sweeps, sweeps + rows)
    changes = [(b - a)[own, :nx].astype("f8") for a, b in zip(steps, steps[1:], strict=False)]
    for norms in ("all", "last", "none"):
        sums = []
        for new, words in (
            by_host(team, sweeps, norms, old, nx, rows, chunk),
            by_warps(sweeps, norms, old, nx, rows, chunk),
        ):
            assert new[own].tobytes() == steps[-1][own].tobytes(), norms
            assert np.delete(new, own, axis=0).tobytes() == np.delete(old, own, axis=0).tobytes(), "a halo was written"
            sums.append(totals(words))
        assert sums[0] == sums[1], "one definition of the norm on both devices"
        for s, change in enumerate(changes):
            wanted = s >= sweeps - SUMMED.get(norms, sweeps)
            expected = float((change * change).sum()) if wanted else 0.0
            assert sums[0][s] / 2.0**FRACTION_BITS == pytest.approx(expected, rel=1e-6, abs=1e-35)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_segments_that_end_early(team, dtype):
    for nx in range(3, segment_columns(dtype), 7):
        old = field(1, nx, 1, dtype)
        sums = [totals(words) for _, words in (by_host(team, 1, "all", old, nx, 1, 1), by_warps(1, "all", old, nx, 1, 1))]
        assert sums[0] == sums[1], nx


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e30])
def test_what_is_no_number_is_counted(team, value):
    old = field(6, 250, 2, "float32")
    old[4, 9] = value
    for _, words in (by_host(team, 2, "all", old, 250, 6, 6), by_warps(2, "all", old, 250, 6, 6)):
        assert words[0, :, BAD_WORD].sum() > 0 and words[1, :, BAD_WORD].sum() > 0
