"""Kernels, and a change in each of them, for the test of their keys."""

BEGIN = """
import ctypes, enum, functools, math, types
from dataclasses import dataclass
from typing import NamedTuple
import numba, numpy as np
from numba.extending import intrinsic
from pennympi.kernels.block import Elements, Words, lanes, load, store
def module(**values):
    made = types.ModuleType("made")
    vars(made).update(values)
    return made
"""
KERNEL = """
{}
def kernel(ctx, x: Elements, n: int):
    for i in lanes(0, n):
        store(x, i, {})
"""

# {name: (definition, expression that reads it, change between two kernels)}
VALUES = {
    "int": ("G = 1", "G", "G = 2"),
    "int to float": ("G = 1", "G", "G = 1.0"),
    "int to bool": ("G = 1", "G", "G = True"),
    "float to NumPy's": ("G = 1.0", "G", "G = np.float64(1)"),
    "NumPy's to another": ("G = np.float64(1)", "G", "G = np.float32(1)"),
    "sign of zero": ("G = 0.0", "G", "G = -0.0"),
    "sign of NumPy's zero": ("G = np.float32(0.0)", "G", "G = np.float32(-0.0)"),
    "nan": ("G = float('inf')", "G", "G = float('nan')"),
    "sign of nan": ("G = math.nan", "G", "G = -math.nan"),
    "last bit": ("G = 0.1", "G", "G = math.nextafter(0.1, 1)"),
    "large int": ("G = 1 << 64", "G", "G = 1 << 65"),
    "huge int": ("G = 1 << 99999", "G", "G = 1 << 99998"),
    "complex": ("G = 1j", "G", "G = complex(-0.0, 1)"),
    "text": ("G = 'a'", "G", "G = 'b'"),
    "text to bytes": ("G = 'a'", "G", "G = b'a'"),
    "None": ("G = None", "G", "G = 0"),
    "a name that was not there": ("", "G", "G = None or 1"),
    "a builtin that is replaced": ("", "abs(i)", "abs = lambda i: i"),
    "range": ("G = range(3)", "G", "G = range(4)"),
    "tuple": ("G = (1, 2)", "G", "G = (1, 2.0)"),
    "nested tuple": ("G = (1, (2, 3))", "G", "G = ((1, 2), 3)"),
    "list": ("G = [1, 2]", "G", "G.append(3)"),
    "dict": ("G = {1: [2]}", "G", "G[1].append(3)"),
    "set": ("G = {'a', 'b', 'c'}", "G", "G.add('d')"),
    "element of an array": ("G = np.arange(9.0)", "G[i]", "G[3] = 7"),
    "shape of an array": ("G = np.arange(6)", "G", "G = G.reshape(2, 3)"),
    "dtype of an array": ("G = np.zeros(2, np.int32)", "G", "G = G.view(np.float32)"),
    "order of an array": ("G = np.ones((2, 2))", "G", "G = np.asfortranarray(G)"),
    "fields of an array": ("G = np.zeros(1, 'i4,i4')", "G", "G = G.view([('a', 'i4'), ('b', 'i4')])"),
    "array in a tuple": ("G = (np.zeros(3),)", "G[0]", "G[0][1] = 1"),
    "dtype": ("G = np.dtype('f4')", "G", "G = np.dtype('f8')"),
    "type of NumPy": ("G = np.float32", "G(i)", "G = np.float64"),
    "type of Numba": ("G = numba.float32", "G(i)", "G = numba.float64"),
    "type of Python": ("G = int", "G(i)", "G = float"),
    "function of C": ("from math import sin as G", "G(i)", "from math import cos as G"),
    "ufunc": ("G = np.sin", "G(i)", "G = np.cos"),
    "function of NumPy": ("G = np.argmin", "G(i)", "G = np.argmax"),
    "module": ("G = math", "G.sqrt(i)", "import cmath as G"),
    "number of a module": ("G = module(a=1)", "G.a", "G.a = 2"),
    "number of a module of a module": ("G = module(b=module(a=1))", "G.b.a", "G.b.a = 2"),
    "module of a module": ("G = module(b=module(a=1))", "G.b.a", "G.b = module(a=2)"),
    "function of a module": ("def f(i): return i\nG = module(f=f)", "G.f(i)", "G.f = lambda i: 2 * i"),
    "array of a module": ("G = module(a=np.zeros(3))", "G.a[i]", "G.a[1] = 1"),
    "what a function of a module reads": ("A = 1\ndef f(i): return A\nG = module(b=module(f=f))", "G.b.f(i)", "A = 2"),
    "helper": ("def f(i): return i", "f(i)", "def f(i): return i + 1"),
    "helper's number": ("A = 1\ndef f(i): return A", "f(i)", "A = 2"),
    "helper's helper": ("def g(i): return i\ndef f(i): return g(i)", "f(i)", "def g(i): return -i"),
    "code of a helper": ("def f(i): return i", "f(i)", "f.__code__ = (lambda i: -i).__code__"),
    "default": ("def f(i, k=1): return k", "f(i)", "f.__defaults__ = (2,)"),
    "default by its type": ("def f(i, k=1): return k", "f(i)", "f.__defaults__ = (1.0,)"),
    "default of a keyword": ("def f(i, *, k=1): return k", "f(i)", "f.__kwdefaults__['k'] = 2"),
    "array as a default": ("A = np.zeros(3)\ndef f(i, k=A): return k[i]", "f(i)", "A[0] = 1"),
    "helper that calls itself": ("A = 1\ndef f(i): return f(i - A) if i else 0", "f(i)", "A = 2"),
    "helpers that call each other": ("A = 1\ndef f(i): return g(i)\ndef g(i): return f(i) + A", "f(i)", "A = 2"),
    "which helper calls which": (
        "def f(i): return g(i)\ndef g(i): return h(i)\ndef h(i): return f(i)", "f(i)", "h = lambda i: g(i)",
    ),
    "cell": ("def make(c):\n    def f(i): return c\n    return f\nf = make(1)", "f(i)", "f = make(2)"),
    "contents of a cell": (
        "def make(c):\n    def f(i): return c\n    return f\nf = make(1)", "f(i)", "f.__closure__[0].cell_contents = 2",
    ),
    "cells that change places": (
        "def make(a, b):\n    def f(i): return a - b\n    return f\nf = make(1, 2)", "f(i)", "f = make(2, 1)",
    ),
    "container in a cell": (
        "A = [np.zeros(2)]\ndef make(c):\n    def f(i): return c[0]\n    return f\nf = make(A)", "f(i)", "A[0][1] = 1",
    ),
    "module in a cell": (
        "A = module(a=1)\ndef make(c):\n    def f(i): return c.a\n    return f\nf = make(A)", "f(i)", "A.a = 2",
    ),
    "function in a cell": (
        "A = 1\ndef g(i): return A\ndef make(c):\n    def f(i): return c(i)\n    return f\nf = make(g)", "f(i)", "A = 2",
    ),
    "how often a function is in a cell": (
        "def g(i): return i\ndef make(c):\n    def f(i): return c(c(i))\n    return f\nf = make(g)",
        "f(i)", "f = make(f)",
    ),
    "function in a tuple": ("A = 1\ndef f(i): return A\nG = (0, (f,))", "G[1][0](i)", "A = 2"),
    "function in a dict": ("A = 1\ndef f(i): return A\nG = {'f': f}", "G['f'](i)", "A = 2"),
    "partial": ("def f(i, k): return k\nG = functools.partial(f, k=1)", "G(i)", "G = functools.partial(f, k=2)"),
    "function of a partial": ("A = 1\ndef f(i): return A\nG = functools.partial(f)", "G(i)", "A = 2"),
    "wrapper": (
        "A = 1\ndef f(i): return A\ndef wrapped(f):\n    @functools.wraps(f)\n    def w(*i): return f(*i)\n    return w\n"
        "G = wrapped(f)", "G(i)", "A = 2",
    ),
    "what numba.njit takes": ("A = 1\n@numba.njit\ndef f(i): return A", "f(i)", "A = 2"),
    "options of numba.njit": ("def f(i): return i\ng = numba.njit(f)", "g(i)", "g = numba.njit(f, fastmath=True)"),
    "signature of numba.njit": ("def f(i): return i\ng = numba.njit(f)", "g(i)", "g = numba.njit('f8(f8)')(f)"),
    "numba.njit in a tuple": ("A = 1\n@numba.njit\ndef f(i): return A\nG = (f,)", "G[0](i)", "A = 2"),
    "numba.njit in a module": ("A = 1\n@numba.njit\ndef f(i): return A\nG = module(f=f)", "G.f(i)", "A = 2"),
    "intrinsic": (
        "A = 1\n@intrinsic\ndef f(typing, i):\n    return numba.int64(i), lambda context, b, s, args: A", "f(i)", "A = 2",
    ),
    "record": (
        "class R(NamedTuple):\n    a: int\n    b: int", "R(1, 2).a", "class R(NamedTuple):\n    b: int\n    a: int",
    ),
    "default of a record": (
        "class R(NamedTuple):\n    a: int = 1", "R().a", "class R(NamedTuple):\n    a: int = 2",
    ),
    "field's annotation": ("class R(NamedTuple):\n    a: int", "R(1).a", "class R(NamedTuple):\n    a: float"),
    "instance of a record": ("class R(NamedTuple):\n    a: int\nG = R(1)", "G.a", "G = R(2)"),
    "record to tuple": ("class R(NamedTuple):\n    a: int\nG = R(1)", "G[0]", "G = (1,)"),
    "function in a record": ("class R(NamedTuple):\n    f: object\nA = 1\nG = R(lambda i: A)", "G.f(i)", "A = 2"),
    "enum": ("class E(enum.Enum):\n    a = 1", "E.a.value", "class E(enum.Enum):\n    a = 2"),
    "kind of enum": ("class E(enum.Enum):\n    a = 1", "E.a.value", "class E(enum.IntEnum):\n    a = 1"),
    "member": ("class E(enum.IntEnum):\n    a = 1\n    b = 2\nG = E.a", "G", "G = E.b"),
    "attribute of a class": ("class C:\n    a = 1", "C.a", "C.a = 2"),
    "method of a class": ("A = 1\nclass C:\n    @staticmethod\n    def f(i): return A", "C.f(i)", "A = 2"),
    "dataclass": ("@dataclass\nclass C:\n    a: int\nG = C(1)", "G.a", "G.a = 2"),
    "annotation": ("", "1", "kernel.__annotations__['n'] = float"),
    "annotation by a text": (
        "class R(NamedTuple):\n    a: int", "i", "kernel.__annotations__['n'] = 'R'",
    ),
    "record of a parameter": (
        "class R(NamedTuple):\n    a: int\ndef f(r: 'R'): return 1", "f(i)", "class R(NamedTuple):\n    b: int",
    ),
    "read in a nested function": ("G = 1", "(lambda: G)()", "G = 2"),
    "read in a comprehension": ("G = 1", "sum([G for _ in range(i)])", "G = 2"),
    "name of an attribute": ("G = module(a=1, b=2)", "G.a", "G.a, G.b = 2, 1"),
}  # fmt: skip

# {name: (text of a function, its part that is replaced, replacement)}
TEXTS = {
    "number": ("def kernel(i):\n    return i * 2.0\n", "2.0", "3.0"),
    "number by its type": ("def kernel(i):\n    return i * 2\n", "2", "2.0"),
    "sign of zero": ("def kernel(i):\n    return i * 0.0\n", "0.0", "-0.0"),
    "operation": ("def kernel(i):\n    return i + 2\n", "+", "-"),
    "name of a function": ("def kernel(i, j):\n    return min(i, j)\n", "min", "max"),
    "name of a local": ("def kernel(i, j):\n    return i\n", "return i", "return j"),
    "order of parameters": ("def kernel(i, j):\n    return i - j\n", "i, j", "j, i"),
    "attribute": ("def kernel(i):\n    return i.a\n", ".a", ".b"),
    "nested function": ("def kernel(i):\n    def f(j):\n        return j * 2\n    return f(i)\n", "* 2", "* 3"),
    "nested default": ("def kernel(i):\n    def f(j=1):\n        return j\n    return f()\n", "=1", "=2"),
    "nested twice": ("def kernel(i):\n    return (lambda: (lambda: 1)())()\n", "1", "2"),
    "lambda": ("kernel = lambda i: i + 1\n", "1", "2"),
    "one of two lambdas of a line": ("kernel, other = lambda i: i + 1, lambda i: i + 7\n", "1", "2"),
    "a lambda in a lambda": ("kernel = (lambda k: lambda i: i + k)(1)\n", "(1)", "(2)"),
    "set": ("def kernel(i):\n    return i in {'a', 'b'}\n", "'b'", "'c'"),
    "condition": ("def kernel(i):\n    return 1 if i else 2\n", "if i", "if not i"),
    "global or local": ("G = 1\ndef kernel(i):\n    G = 1\n    return G\n", "    G = 1\n", ""),
}  # fmt: skip

# {name: (definition, expression)} of values that have no digest.
WITHOUT_KEY = {
    "module by another name": ("G = module(a=1)\ndef f(i):\n    m = G\n    return m.a", "f(i)"),
    "module as an argument": ("G = module(a=1)\ndef f(m): return m.a", "f(G)"),
    "module in a tuple": ("G = (module(a=1),)", "G[0].a"),
    "function of ctypes": ("G = ctypes.CDLL(None).getpid", "G()"),
    "any object": ("G = object()", "G"),
    "array of objects": ("G = np.array([None])", "G"),
    "ufunc of Numba": ("@numba.vectorize\ndef G(i): return i", "G(i)"),
    "callback of Numba": ("@numba.cfunc('f8(f8)')\ndef G(i): return i", "G(i)"),
    "deep nesting": ("G = ()\nfor _ in range(2000): G = (G,)", "G"),
}
