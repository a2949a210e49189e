"""Static loops and parameters: their expansion, and what is refused."""

import dis
import linecache
import textwrap
from typing import NamedTuple

import numba
import pytest

from pennympi.compile.bind import bind
from pennympi.compile.unroll import Static, StaticError, specialised, static, unrolled

WIDTH = 3


class Shape(NamedTuple):
    rows: int
    formula: object

    @property
    def pairs(self) -> int:
        return self.rows // 2


def square(x):
    return x * x


def one_more(shape: Shape) -> Static[int]:
    return shape.rows + 1


def weighted(n: Static[int], negative: Static[bool], x, weight=2):
    total = x
    for k in static(n):
        total = total + k * weight
    if negative and n > 1:
        return -total
    return total


def tree(first: Static[int], n: Static[int], values):
    if n == 1:
        return values[first]
    half = n // 2
    return tree(first, half, values) + tree(first + half, n - half, values)


def every_form(shape: Static[Shape], kind: Static[str], a, b):
    rows, total = shape.rows, a[0]
    change = square if kind == "square" else weighted
    sums = tuple(a[r] + WIDTH for r in static(rows))
    for _ in range(2):
        for r in static(one_more(shape)):
            twice = r * 2
            total = total + twice
    grid = tuple(10 * i + j for i in static(2) for j in static(3) if j != i)
    bounds = max(a[k] for k in static(rows)), min(a[k] for k in static(rows))
    tests = all(a[k] > 0 for k in static(3)), any(a[k] > 5 for k in static(3)), sum(a[k] for k in static(3))
    if kind != "square":
        return change
    return sums, total, grid, bounds, tests, weighted(rows, False, b, weight=3), change(b), tree(0, 3, a), shape.pairs


def opcodes(function):
    return [instruction.opname for instruction in dis.get_instructions(function)]


def test_every_form_is_what_plain_python_computes():
    shape = Shape(3, square)
    written = specialised(every_form, shape, "square")
    assert written((1, 7, 3), 4) == every_form(shape, "square", (1, 7, 3), 4)
    assert numba.njit(bind(written, {}, numba.njit))((1, 7, 3), 4) == every_form(shape, "square", (1, 7, 3), 4)
    assert opcodes(written).count("FOR_ITER") == 1  # the loop over range(2)
    assert written.__annotations__ == {}


def loop_of(n):
    @unrolled
    def first(x):
        found = ()
        for k in static(n):
            found = (*found, x[k])
        return found

    return first


def test_closures_and_no_turns():
    assert loop_of(2)((5, 6, 7)) == (5, 6)
    assert loop_of(0)((5,)) == ()
    assert loop_of(2).__code__ != loop_of(3).__code__  # the key of machine code depends on it


def test_conditions_of_constants():
    def chosen(x):
        for k in static(2):
            if k == 0:
                x = x + 1
            elif k == 5:
                undefined_name(x)  # noqa: F821
            else:
                x = x * 10
        return x if WIDTH == 3 else undefined_name(x)  # noqa: F821

    assert unrolled(chosen)(1) == 20
    assert not any("JUMP" in name for name in opcodes(unrolled(chosen)))


def test_bind_writes_out_what_a_kernel_calls():
    def helper(x):
        return sum(x[k] for k in static(WIDTH))

    def kernel(x):
        return helper(x) + weighted(2, True, x[0])

    assert numba.njit(bind(kernel, {}, numba.njit))((1, 2, 3)) == 6 - 3


def test_lines_are_those_of_the_file():
    def kernel(x):
        for k in static(2):
            x = x + k
            x = x / 0
        return x

    with pytest.raises(ZeroDivisionError) as caught:
        unrolled(kernel)(1)
    assert caught.traceback[-1].lineno == kernel.__code__.co_firstlineno + 2
    assert caught.traceback[-1].path.name == "test_unroll.py"


def unknown_bound(n, x):
    for k in static(n):
        x = x + k
    return x


def unknown_parameter(n, x):
    return weighted(n, True, x)


def leaves(x):
    for k in static(3):
        if x > k:
            break
    return x


def lacks(x):
    return weighted(x)


@pytest.mark.parametrize(
    ("function", "line", "message"),
    [
        (unknown_bound, 1, "a bound of a loop is static, but n is not known"),
        (unknown_parameter, 1, "n of weighted is static, but n is not known"),
        (leaves, 1, "no break, continue or else"),
        (lacks, 1, "n of weighted is static, but x is not known"),
        (weighted, 0, "weighted needs values of n, negative"),
    ],
)
def test_refused(function, line, message):
    with pytest.raises(StaticError) as caught:
        unrolled(function)
    assert f"test_unroll.py:{function.__code__.co_firstlineno + line}: " in str(caught.value)
    assert message in str(caught.value)


def test_a_file_that_changed_is_refused(tmp_path):
    text = "from pennympi.compile.unroll import static\ndef f(x):\n    return tuple(x + k for k in static({n}))\n"
    path = tmp_path / "changed.py"
    path.write_text(text.format(n=2))
    scope = {"__name__": "changed"}
    exec(compile(text.format(n=2), str(path), "exec"), scope)
    assert unrolled(scope["f"])(1) == (1, 2)
    path.write_text(text.format(n=2).replace("x + k", "x - 2 * k"))
    linecache.checkcache(str(path))
    with pytest.raises(StaticError, match="needs the text of its function"):
        unrolled(scope["f"])


def test_no_text():
    scope = {"static": static}
    exec(textwrap.dedent("def f(x):\n    return tuple(x + k for k in static(2))\n"), scope)
    scope["f"].__module__ = "typed"
    with pytest.raises(StaticError, match="needs the text of its function"):
        unrolled(scope["f"])


def test_what_has_nothing_static_stays_itself():
    assert unrolled(square) is square
