"""Mistakes in kernels and formulas: the first line of the error has the file, the line, and the mistake."""

import math
import random
import traceback

import numpy as np
import pytest
from on_device import Row, device

import pennympi
from pennympi.kernels import block

pytestmark = pytest.mark.mpi

HEAD = "def k(ctx, y: Elements, x: Elements, n: int):\n"
LOOP = f"{HEAD}    for i in lanes(0, n):\n        "
FORMULA = "def f(u, x_minus, x_plus, y_minus, y_plus):\n    "


KERNELS = [  # (text, first line of the error; "": no error)
    (f"{LOOP}y[i] = x[i] + 1", "3: brackets: write store(y, i, load(x, i) + 1)"),
    (f"{LOOP}sync()", "3: all threads of the block call sync() together: call it outside the loop over lanes"),
    (
        f"{HEAD}    if is_leader():\n        copy(y, x, n)",
        "3: all threads of the block call copy() together: call it outsi",
    ),
    (
        f"{LOOP}meet()\ndef meet():\n    sync()",
        "3: all threads of the block call sync() together: call it outside the lo",
    ),
    (f"{HEAD}    if is_leader():\n        store(y, 0, 1.0)\n    sync()", ""),
    (f"{LOOP}y[i] += x[i, 2]", "3: brackets: write store(y, i, load(y, i) + load(x, i * columns + 2))"),
    (f"{LOOP}store(y, i, first(x))\ndef first(z):\n    return z[0]", "5: brackets: write load(z, 0)"),
    (f"{LOOP}store(y, i, x(i))", "3: write load(x, i)"),
    (f"{LOOP}s = f'{{i:>5}}'", "3: a kernel makes no texts: print('i', i) prints texts and numbers side by side"),
    (f"{LOOP}print('i', i)", ""),
    (f"{LOOP}store(y, i, np.sin(load(x, i)))", ""),
    (f"{LOOP}store(y, i, np.sqrt(load(x, i)))", "3: a GPU has no numpy.sqrt: write math.sqrt"),
    (f"{LOOP}store(y, i, np.sum(load(x, i)))", "3: a GPU has no numpy.sum: compute with numbers, element by element"),
    (f"{LOOP}store(y, i, random.random())", "3: a GPU has no random numbers here: pass them in an array"),
    (f"{LOOP}store(y, i, math.gcd(i, 2))", "3: a kernel has no math.gcd"),
    (f"{LOOP}store(y, i, math.sinn(1.0))", "3: module math has no 'sinn': did you mean sin?"),
    (f"{HEAD}    try:\n        store(y, 0, 1.0)\n    except ValueError:\n        pass", "2: a kernel has no try: put"),
    (f"{HEAD}    d = {{'a': 1.0}}", "2: a GPU has no dict: write a tuple, such as (1.0, 2.0), or pass an array"),
    (f"{HEAD}    d = [1.0, 2.0]", "2: a GPU has no list: write a tuple, such as (1.0, 2.0), or pass an array"),
    (f"{HEAD}    for i in sorted((2, 1)):\n        store(y, i, 0.0)", "2: a GPU has no sorted: write a tuple, such as "),
    (f"{HEAD}    assert n > 0", "2: a GPU drops assert: write a number to an array, and check it on the host"),
    (f"{LOOP}store(y, i, laod(x, i))", "3: name 'laod' is not defined: did you mean load?"),
    (f"{LOOP}sync_all()", "3: name 'sync_all' is not defined"),
    (f"{LOOP}signal_all(ctx, y, 1, 0)", "3: signal_all(ctx, signals, value, me, n_pes): missing a required argument: "),
    (f"{LOOP}store(y, i)", "3: store(base, index, value): missing a required argument: 'value'"),
    (f"{LOOP}store(y, i, f(i))\ndef f(a):\n    b = a", "4: helper f does not return a value on every path"),
    (
        f"{LOOP}store(y, i, f(i))\ndef f(a):\n    if a:\n        return 1.0",
        "4: helper f does not return a value on every path",
    ),
    (f"{LOOP}store(y, i, store(x, i, 1.0))", "3: store() has no value"),
    (f"{HEAD}    return 5", "2: a kernel returns nothing: write the value to an array, by store(y, i, value)"),
    ("k = lambda ctx, y, x, n: store(y, 0, load(x, 0))", ""),
    (f"table = np.arange(10.0)\n{LOOP}store(y, i, table[i])", ""),
    ("def k(y: Elements, x: Elements, n: int):\n    pass", "1: the first parameter of a kernel is ctx: write def k("),
    (f"{HEAD}    a = 0\n    for i in lanes(0, n):\n        a = 'x'", "4: a is a text here and a number in line 2"),
    (f"{LOOP}total += 1.0", "3: total has no value yet: write total = 0.0 before the loop"),
    (f"{HEAD}    for i in y:\n        pass", "2: y is no sequence in a kernel: loop over indices, lanes(0, n)"),
    (f"{HEAD}    for i in lanes(0, len(y)):\n        pass", "2: y has no length in a kernel: pass it"),
    (f"{HEAD}    store(y, 0, y.size)", "2: y is an address in a kernel and has no 'size': pass it"),
    ("def k(ctx, y: Row, x, n):\n    store(y.adress, 0, 1.0)", "2: Row has no field 'adress': did you mean address?"),
    (f"{LOOP}t = (1.0, 2)\n        store(y, i, t * t)", "4: the compiler knows no mul(Tuple(float64, Literal[int](2)), "),
    (f"{LOOP}store(y, i, f(i))\ndef f(a):\n    b = (a, a)\n    return b + 1.0", "6: the compiler knows no add("),
]

FORMULAS = [
    (f"{FORMULA}return 0.25 * (x_minsu + x_plus)", "2: name 'x_minsu' is not defined: did you mean x_minus?"),
    (f"{FORMULA}return rel(0.25) * x_minus", "2: name 'rel' is not defined: did you mean real?"),
    (f"{FORMULA}b = u + x_minus", "1: formula f does not return a value on every path"),
    (f"{FORMULA}if u > 0:\n        return x_minus", "1: formula f does not return a value on every path"),
    (f"{FORMULA}return", "1: formula f does not return a value on every path"),
    (f"{FORMULA}return u[0] + x_minus", "2: brackets: u is a number, the value at one point"),
    (f"{FORMULA}return u.value", "2: u is a number and has no 'value'"),
    (f"{FORMULA}return u, x_minus", "2: a formula returns one number"),
    (f"{FORMULA}return 'warm'", "2: a formula returns one number"),
    (f"{FORMULA}return load(u, 0)", "2: a formula has no load(): it gets the values of the point and its neighbours"),
    (f"{FORMULA}return np.sqrt(u)", "2: a GPU has no numpy.sqrt: write math.sqrt"),
    (f"{FORMULA}return np.mean((u, x_plus))", "2: a GPU has no numpy.mean: compute with numbers, element by element"),
    (f"{FORMULA}return np.abs(u)", "2: a GPU has no numpy.abs: write abs"),
    (f"{FORMULA}return sum([u, x_plus])", "2: a GPU has no list: write a tuple, such as (1.0, 2.0), or pass an array"),
    (f"{FORMULA}return {{'a': u}}['a']", "2: a GPU has no dict: write a tuple, such as (1.0, 2.0), or pass an array"),
    (f"{FORMULA}return sum(x for x in (x_minus, x_plus))", "2: a kernel has no generator: write a loop, or loop"),
    (f"{FORMULA}try:\n        return u\n    except ValueError:\n        return x_minus", "2: a kernel has no try: put"),
    (f"{FORMULA}assert u > 0\n    return u", "2: a GPU drops assert: write a number to an array, and check it"),
    (f"{FORMULA}raise ValueError", "2: a GPU drops raise: write a number to an array, and check it on the host"),
    (f"{FORMULA}global total\n    return u", "2: a kernel sets no globals: write the value to an array"),
    (f"{FORMULA}yield u", "2: a kernel has no yield: write a loop"),
    (f"{FORMULA}import math\n    return math.sin(u)", "2: a kernel has no import: write it outside the kernel"),
    (f"{FORMULA}return math.sqroot(u)", "2: module math has no 'sqroot': did you mean sqrt?"),
    (f"{FORMULA}return half(u)\ndef half(a):\n    b = a / 2", "3: helper half does not return a value on every path"),
    (f"{FORMULA}return half(u)\ndef half(a):\n    return a / two", "4: name 'two' is not defined"),
    (f"{FORMULA}return half(u, 2)\ndef half(a):\n    return a", "2: half(a): too many positional arguments"),
    (f"{FORMULA}t = (u, 2)\n    return t * t", "3: the compiler knows no mul(Tuple(float64, "),
]


def function_of(text, name, tmp_path):
    """A function of a program of this text."""
    names = ("Elements", "lanes", "load", "store", "real", "signal_all", "sync", "copy", "is_leader")
    path = tmp_path / "program.py"
    path.write_text(text)
    scope = {"np": np, "math": math, "random": random, "Row": Row, "__name__": "program"}
    scope |= {one: getattr(block, one) for one in names}
    exec(compile(text, str(path), "exec"), scope)
    return scope[name]


def check(what, call):
    """Check that the call raises a KernelError with this beginning, whose traceback shows one line of the library."""
    if not what:
        call()
        return
    with pytest.raises(pennympi.KernelError) as caught:
        call()
    file, _, said = str(caught.value).partition("program.py:")
    assert "\n" not in file and said.startswith(what), str(caught.value)
    own = pennympi.__file__.removesuffix("__init__.py")
    assert sum(frame.filename.startswith(own) for frame in traceback.extract_tb(caught.tb)) == 1
    assert own not in str(caught.value) and "During:" not in str(caught.value)


@pytest.mark.parametrize(("text", "what"), KERNELS, ids=range(len(KERNELS)))
def test_mistakes_in_kernels(team, text, what, tmp_path):
    y, x = device(team, np.ones(8)), device(team, np.ones(8))

    def call():
        kernel = team.kernel(function_of(text, "k", tmp_path), "float64")
        kernel(1, *((Row(y, 8), x, 8) if "Row" in text else (y, x, 8)))

    check(what, call)
    team.synchronize()


@pytest.mark.parametrize(("text", "what"), FORMULAS, ids=range(len(FORMULAS)))
def test_mistakes_in_formulas(team, text, what, tmp_path):
    grid = team.grid((16, 16 * team.n_pes))
    u, v = grid.zeros("float64"), grid.zeros("float64")
    check(what, lambda: grid.plan_sweep(function_of(text, "f", tmp_path), u, v, 2))
    team.free(u)
    team.free(v)
