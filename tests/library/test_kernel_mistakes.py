"""team.kernel with arrays of another dtype, or with a text that can't be compiled: one sentence, and nothing runs."""

from typing import NamedTuple

import numba
import numpy as np
import pytest
from on_device import device, same
from wrong_kernels import WRONG, misspelt

from pennympi.compile.kernel_text import Use, uses_of
from pennympi.kernels.block import add_shared, copy, first, lanes, load, put_signal, real, store, wait

pytestmark = pytest.mark.mpi
READ, WRITTEN = Use.ELEMENTS, Use.ELEMENTS | Use.WRITTEN


class Row(NamedTuple):
    """n elements at an address."""

    address: int
    n: int


def after(row: Row, n):
    return Row(row.address + n * 4, row.n - n)


def mean(x, i):
    return real(0.5) * (load(x, i) + load(x, i + 1))


def doubled(ctx, y, x, n):
    """y (n,) = 2 * x (n,)."""
    for i in lanes(0, n):
        store(y, i, real(2) * load(x, i))


def means(ctx, y: Row, x: Row, ends, words):
    """y, a row but for its first element, = means of x; words (1,) += 1."""
    low, count = after(y, 1)
    base = x.address if count else ends
    for i in lanes(0, count):
        store(low, i, mean(base, i))
    if first():
        add_shared(words, 0, 1)


def message(ctx, dst, src, nbytes, words, i, there, pe):
    copy(dst, src, nbytes)
    put_signal(ctx, there, dst, nbytes, words + 8 * i, 1, pe)
    wait(ctx, words + 8 * i, 1, pe)


def sentence(call, error):
    """What an error says that the call must raise."""
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


def test_a_kernel_and_arrays_of_different_dtypes(team):
    x, y = device(team, np.ones(8)), device(team, np.ones(8, np.float32))
    single, double = team.kernel(doubled, "float32"), team.kernel(doubled, "float64")
    said = sentence(lambda: single(1, y, x, 8), ValueError)
    assert "loads or stores float32 at x, and the array is float64: compile it by team.kernel(doubled, 'float64')" in said
    for kernel, args in ((single, (x, y, 8)), (single, (x, x, 8)), (double, (y, y, 8)), (double, (x, y, 8))):
        assert "doubled loads or stores" in sentence(lambda args=args, kernel=kernel: kernel(1, *args), ValueError)
    single(1, y, y, 8)
    double(1, x, x, 8)
    team.synchronize()
    assert same(x, np.full(8, 2.0)) and same(y, np.full(8, 2.0, np.float32))


def test_elements_and_words_in_one_kernel(team):
    """Fields of records too, through the functions that a kernel calls; words need not have the kernel's dtype."""
    x, y, words = device(team, np.arange(5, dtype=np.float32)), device(team, np.zeros(4, np.float32)), team.signals(1)
    kernel = team.kernel(means, "float32")
    double = device(team, np.ones(5))
    for args in ((Row(y, 4), Row(double, 5), x, words), (Row(double, 4), Row(x, 5), x, words)):
        assert "float32 at " in sentence(lambda args=args: kernel(1, *args), ValueError)
    said = sentence(lambda: kernel(1, Row(y, 4), Row(x, 5), x, x), ValueError)
    assert "64-bit words at words, and the array is float32: pass int64 or uint64" in said
    kernel(1, Row(y, 4), Row(x, 5), x, words)
    team.synchronize()
    assert same(y, [0, 0.5, 1.5, 2.5]) and same(words, [1])
    team.free(words)


def test_a_read_only_array_is_not_written(team):
    if team.backend != "host":
        pytest.skip("CuPy has no read-only arrays")
    x, y = np.ones(4, np.float32), np.zeros(4, np.float32)
    x.flags.writeable = False
    kernel = team.kernel(doubled, "float32")
    kernel(1, y, x, 4)
    assert "read-only" in sentence(lambda: kernel(1, x, y, 4), ValueError)
    assert same(x, [1] * 4) and same(y, [2] * 4)


def test_what_a_kernel_does_at_its_addresses():
    assert uses_of(doubled) == [WRITTEN, READ, Use(0)]
    assert uses_of(means) == [WRITTEN, Use(0), READ, Use(0), READ, Use.WORDS | Use.WRITTEN]
    assert uses_of(message) == [Use.WRITTEN, Use(0), Use(0), Use.WORDS, Use(0), Use(0), Use(0)]
    assert uses_of(lambda ctx, x: store(x, 0, load(x, 0))) == [Use(0)]  # a text that is not read is not judged


@pytest.mark.parametrize(("kernel", "what"), WRONG, ids=lambda one: getattr(one, "__name__", ""))
def test_a_text_that_cannot_be_compiled(team, kernel, what):
    said = sentence(lambda: team.kernel(kernel, "float32")(1, device(team, np.ones(4, np.float32)), 4), TypeError)
    assert what in said and "load(x, i)" in said and "store(y, i, value)" in said and "\n" not in said, said
    assert f"kernel {kernel.__name__} can't be compiled" in said and (kernel is misspelt or "wrong_kernels.py:" in said)


def test_what_is_no_kernel(team):
    for wrong, said in (
        ("doubled", "str is none"),
        (print, "is none"),
        (numba.njit(doubled), "pass its py_func"),
        (lambda: None, "needs ctx as its first parameter"),
        (lambda ctx, *rest: None, "needs ctx as its first parameter"),
    ):
        assert said in sentence(lambda wrong=wrong: team.kernel(wrong, "float32"), TypeError)
    x = device(team, np.ones(4, np.float32))
    said = sentence(lambda: team.kernel(doubled, "float32")(1, x, 4), TypeError)
    assert said.endswith("(y, x, n), not 2: the launch itself gives the first parameter, ctx")
