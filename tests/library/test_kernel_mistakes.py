"""team.kernel with arguments that do not fit the annotations: nothing runs."""

import numba
import numpy as np
import pytest
from on_device import Row, device, same

from pennympi import specialised
from pennympi.kernels.block import Elements, Static, Words, add_shared, is_leader, lanes, load, real, static, store

pytestmark = pytest.mark.mpi


def saxpy(ctx, y: Row, x: Elements, a: float, words: Words):
    """y += a * x; words (1,) += 1."""
    for i in lanes(0, y.n):
        store(y.address, i, load(y.address, i) + real(a) * load(x, i))
    if is_leader():
        add_shared(words, 0, 1)


def saxpy_of_anything(ctx, y, x, a, n):
    for i in lanes(0, n):
        store(y, i, load(y, i) + real(a) * load(x, i))


def sums_of(n: Static[int], ctx, y: Elements, x: Elements, rows):
    """y (rows,) = sums of the rows of x (rows, n)."""
    for i in lanes(0, rows):
        store(y, i, sum(load(x, n * i + k) for k in static(n)))


def sentence(call, error):
    """The text of the error that the call must raise."""
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


def test_arguments_that_do_not_fit_their_annotations(team):
    x, double = device(team, np.ones(4, np.float32)), device(team, np.ones(4))
    y, words = Row(device(team, np.ones(4, np.float32)), 4), team.signals(1)
    kernel = team.kernel(saxpy, "float32")
    own = "takes an array of float32, the dtype in team.kernel(saxpy, 'float32'), as"
    for args, message in (
        ((y, double, 2, words), f"{own} x, not an array of float64"),
        ((Row(double, 4), x, 2, words), f"{own} address, not an array of float64"),
        ((y, 4, 2, words), f"{own} x, not the number 4"),
        ((y, x, x, words), "takes float as a, not an array of float32"),
        ((Row(x, 4.0), x, 2, words), "takes int as n, not the number 4.0"),
        ((Row(x, x), x, 2, words), "takes int as n, not an array of float32"),
        ((y, x, 2, x), "takes an array of int64 or uint64, such as team.signals(n), as words, not an array of float32"),
        ((y, x, 2, 1.5), "takes an array of int64 or uint64, such as team.signals(n), as words, not the number 1.5"),
        ((x, x, 2, words), "takes a Row as y, not"),
    ):
        assert sentence(lambda args=args: kernel(1, *args), TypeError).startswith(f"kernel saxpy {message}"), args
    kernel(1, y, x, 2, words)  # an int also fits float
    kernel(1, y, x, np.float32(0.5), words)
    team.synchronize()
    assert same(y.address, [3.5] * 4) and same(words, [2]) and list(kernel._compiled) == ["iiifi"]


def test_without_annotations_a_kernel_takes_whatever_it_is_given(team):
    x, y = device(team, np.ones(4, np.float32)), device(team, np.ones(4, np.float32))
    kernel = team.kernel(saxpy_of_anything, "float32")
    kernel(1, y, x, 2, 4)
    kernel(1, y, x, 0.5, 4)
    team.synchronize()
    assert same(y, [3.5] * 4) and list(kernel._compiled) == ["iiii", "iifi"]


def test_what_is_no_kernel(team):
    for wrong, message in (
        ("saxpy", "str is none"),
        (print, "is none"),
        (numba.njit(saxpy), "pass its py_func"),
        (lambda: None, "needs ctx as its first parameter"),
        (lambda ctx, *rest: None, "needs ctx as its first parameter"),
    ):
        assert message in sentence(lambda wrong=wrong: team.kernel(wrong, "float32"), TypeError)
    x = device(team, np.ones(4, np.float32))
    message = sentence(lambda: team.kernel(saxpy_of_anything, "float32")(1, x, 4), TypeError)
    assert message.endswith("(y, x, a, n), not 2: the launch itself gives the first parameter, ctx")


def test_a_kernel_with_static_parameters(team):
    for n in (1, 3):
        x, y = device(team, np.arange(5 * n, dtype="float64")), device(team, np.zeros(5))
        team.kernel(specialised(sums_of, n), "float64")(1, y, x, 5)
        team.synchronize()
        assert same(y, np.arange(5.0 * n).reshape(5, n).sum(axis=1))


def test_static_parameters_without_the_right_values(team):
    remedy = "kernel sums_of has static parameters: pass pennympi.specialised(sums_of, n) with their values"
    assert sentence(lambda: team.kernel(sums_of, "float64"), TypeError) == remedy
    assert "sums_of needs values of n" in sentence(lambda: specialised(sums_of), TypeError)
    assert "takes the values of its static parameters (n), not 2" in sentence(
        lambda: specialised(sums_of, 1, 2), TypeError
    )
    assert "takes no values: nothing is static, not 1" in sentence(lambda: specialised(saxpy, 1), TypeError)
    assert "CPUDispatcher is none" in sentence(lambda: specialised(numba.njit(saxpy), 1), TypeError)
