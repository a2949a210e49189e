"""The norm of a sweep: the sum of squares in three bins is that of all six, in any order and any split."""

import math
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest
from on_device import device, to_numpy

from pennympi.compile.bind import bind
from pennympi.grid.sweep.norm import SweepNorm
from pennympi.host.sweep.squares import row_squares
from pennympi.kernels.block import block, blocks, lanes, load
from pennympi.kernels.in_kernel.exact import (
    BAD_WORD,
    BINS,
    LIMIT,
    UNIT_0,
    WORDS,
    SumWords,
    add_to_bins,
    no_bins,
)
from pennympi.kernels.sweep import norm
from pennympi.kernels.sweep.norm import (
    COPIES,
    add_square,
    add_squares_to_words,
    adder,
    no_squares,
    norm_of,
)

DTYPES = ["float32", "float64"]


def into_words(team, dtype):
    """A kernel: words (COPIES, WORDS) += the squares of x (n,), one by one, then four at a time."""
    add_four, add_to_words = adder(4, dtype), add_squares_to_words
    if team.backend == "cuda":
        add_to_words = import_module("pennympi.cuda.sweep.norm").add_squares_of_warp

    def kernel(ctx, x, n, words):
        squares, share = no_squares(), (n + blocks() - 1) // blocks()
        start, stop = block() * share, min(n, (block() + 1) * share)
        for i in lanes(start, min(start + 100, stop)):
            squares = add_square(squares, load(x, i))
        for k in lanes(0, (stop - start - 100) // 4):
            i = start + 100 + 4 * k
            squares = add_four(squares, (load(x, i), load(x, i + 1), load(x, i + 2), load(x, i + 3)))
        add_to_words(words, squares)

    return kernel


def by_rows(dtype):
    """The kernel of a CPU: words (COPIES, WORDS) += the squares of new - old (n,)."""
    add = row_squares(dtype)

    def kernel(ctx, new, old, n, row, words):
        for start in range(0, n, row):
            add(words, new, old, start, min(start + row, n))

    return kernel


def in_python(function, dtype):
    """A function of norm.py as plain Python on NumPy's numbers of a dtype."""
    bodies = {"real": np.dtype(dtype).type, "bits": lambda x: int(x.view(np.int64))}
    bodies["product"] = lambda x, y: np.float64(x) * np.float64(y)  # of float64 in norm.py; 1.0 * x is float32 in NumPy
    bodies["multiply_add"] = lambda x, y, z: np.float64(x) * np.float64(y) + z  # of float32
    return bind(function, bodies, lambda one: one)


def parts_of(squares):
    """(bad, a, b, .., f): what squares hold, by bins."""
    if squares.scale == 0:
        return [1] + [0] * BINS
    top = norm.top_bin(squares.scale)
    return [0] * (1 + top) + [norm.multiples(one) for one in squares[1:]] + [0] * (BINS - 3 - top)


def words_of(changes):
    """The words of changes by all six bins."""
    with np.errstate(all="ignore"):
        bins = no_bins()
        for change in changes.astype("float64").tolist():
            bins = add_to_bins(bins, change * change)
    if math.isnan(bins.a):
        return SumWords(*[0] * BINS, 1)
    return SumWords(*(int(one / (UNIT_0 * 2.0 ** (-30 * k))) for k, one in enumerate(bins)), 0)


def changes_of(seed, n, dtype):
    """(n,) changes of either sign, over a range of sizes that begins anywhere."""
    rng = np.random.default_rng(seed)
    low = rng.integers(-90, 10)
    high = rng.integers(low + 1, 19)
    x = rng.standard_normal(n) * 2.0 ** rng.integers(low, high, n)
    x[rng.integers(0, n, n // 8)] = 2.0 ** rng.integers(low, high, n // 8)  # whose squares lie on the bins' edges
    x[rng.integers(0, n, n // 8)] = 0
    return np.where(np.abs(x) < 2.0**18, x, 1.0).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(40))
def test_three_bins_are_those_of_six(seed, dtype):
    """Whatever the order and the split, one by one and by fours."""
    changes = changes_of(seed, 64, dtype)
    wanted = words_of(changes)
    add, add_four, start = in_python(add_square, dtype), in_python(adder(4, dtype), dtype), in_python(no_squares, dtype)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        rng.shuffle(changes)
        cut = 4 * rng.integers(0, 17)
        one, other = start(), start()
        with np.errstate(all="ignore"):
            for change in changes[:cut]:
                one = add(one, change)
            for four in changes[cut:].reshape(-1, 4):
                other = add_four(other, tuple(four))
        bad, *found = (x + y for x, y in zip(parts_of(one), parts_of(other), strict=True))
        assert norm.counting(SumWords(*found, bad)) == norm.counting(wanted)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, LIMIT, -(2.0**18.5) - 1])
def test_what_is_no_number_or_too_large(dtype, bad):
    changes = np.array([1.0, bad, 2.0, 0.5], dtype)
    add, add_four, start = in_python(add_square, dtype), in_python(adder(4, dtype), dtype), in_python(no_squares, dtype)
    with np.errstate(all="ignore"):
        for order in ([0, 1, 2, 3], [1, 0, 2, 3], [0, 2, 3, 1]):
            squares = start()
            for k in order:
                squares = add(squares, changes[k])
            assert parts_of(squares) == parts_of(add_four(start(), tuple(changes[order]))) == [1] + [0] * BINS
    assert math.isnan(norm_of(SumWords(0, 0, 0, 0, 0, 0, 1)))


def test_edges_of_the_window():
    """Squares at, and next to, those from which on a value belongs to the bin before."""
    add, start = in_python(add_square, "float64"), in_python(no_squares, "float64")
    for edge in (LIMIT, norm.EDGE_1, norm.EDGE_2, norm.EDGE_3):
        root = np.float64(math.sqrt(edge))
        for change in (root, np.nextafter(root, 0), np.nextafter(root, 1e9), np.nextafter(np.nextafter(root, 0), 0)):
            wanted = words_of(np.array([change, change / 3]))
            found = parts_of(add(add(start(), change), change / np.float64(3)))
            assert norm.counting(SumWords(*found[1:], found[0])) == norm.counting(wanted)


@pytest.mark.parametrize("x", [0.0, 5e-324, 1e-40, 2.0**-71, 1e-18, 3.0, 370000.0])
def test_one_value(x):
    found = norm_of(words_of(np.array([x])))
    assert found == (x if x >= 2.0**-71 else 0.0) or found == pytest.approx(x, rel=1e-6)


@pytest.mark.mpi
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_blocks", [1, 7])
def test_on_the_device(team, dtype, n_blocks):
    changes = changes_of(n_blocks, 100 * n_blocks + 4 * 7 * 31, dtype)
    words = device(team, np.zeros((COPIES, WORDS), "int64"))
    team.kernel(into_words(team, dtype), dtype)(n_blocks, device(team, changes), len(changes), words, threads=32)
    team.synchronize()
    found = to_numpy(words).sum(axis=0)
    wanted = words_of(changes)
    assert norm.counting(SumWords(*found[: BAD_WORD + 1].tolist())) == norm.counting(wanted)
    exact = math.sqrt(sum((Fraction(x) ** 2 for x in changes.astype("float64").tolist()), Fraction(0)))
    assert norm_of(wanted) == pytest.approx(exact, rel=1e-12)


@pytest.mark.mpi
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bad", [[], [math.nan], [math.inf, 1.0], [3e8]])
def test_by_rows(team, dtype, bad):
    """Rows whose squares grow, and then shrink."""
    if team.backend != "host":
        pytest.skip("a GPU has warps")
    old = changes_of(5, 1000, dtype)
    new = (old + np.sort(np.concatenate([changes_of(k, 125, dtype) for k in range(8)]))).astype(dtype)
    new[500 : 500 + len(bad)] = bad
    words = device(team, np.zeros((COPIES, WORDS), "int64"))
    team.kernel(by_rows(dtype), dtype)(1, new, old, 1000, 96, words)
    team.synchronize()
    found = to_numpy(words).sum(axis=0)[: BAD_WORD + 1].tolist()
    assert (found[BAD_WORD] > 0) == bool(bad)
    assert bad or norm.counting(SumWords(*found)) == norm.counting(words_of(new - old))


@pytest.mark.mpi
@pytest.mark.parametrize("n_levels", [1, 70])
def test_norms_over_the_pes(team, n_levels):
    """Each PE adds the squares of its part; all get the norm of all, again and again, and NaN for one level."""
    made = SweepNorm(team._context, team.plan_allreduce, n_levels)
    changes = changes_of(n_levels, 64 * team.n_pes, "float64")
    wanted = norm_of(words_of(changes))
    add = team.kernel(into_words(team, "float64"), "float64")
    own = device(team, changes[64 * team.me : 64 * (team.me + 1)])
    bad = device(team, np.full(4, np.nan))
    for _ in range(2):
        made.clear(None)
        for level in range(n_levels):
            add(1, own, 64, made.words(level), threads=32)
        if n_levels > 1 and team.me == 0:
            add(1, bad, 4, made.words(3), threads=32)
        made.finish(None)
        team.synchronize()
        found = to_numpy(made.norms).tolist()
        assert n_levels == 1 or math.isnan(found.pop(3))
        assert set(found) == {wanted}
