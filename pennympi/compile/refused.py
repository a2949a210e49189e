"""Python that no kernel may use: no backend compiles it, or a CPU does and a GPU does not."""

import ast
import math
from typing import Any

_TEXT = "a kernel makes no texts: print('i', i) prints texts and numbers side by side"
_NO_LIST = "a GPU has no {}: write a tuple, such as (1.0, 2.0), or pass an array"
_NO_RAISE = "a GPU drops {}: write a number to an array, and check it on the host"
_NO_TRY = "a kernel has no {}: put it around the launch"
_OUTSIDE = "a kernel has no {}: write it outside the kernel"
_NO_YIELD = "a kernel has no {}: write a loop"

NODES: dict[type[ast.AST], str] = {
    ast.Dict: _NO_LIST.format("dict"),
    ast.DictComp: _NO_LIST.format("dict"),
    ast.List: _NO_LIST.format("list"),
    ast.ListComp: _NO_LIST.format("list"),
    ast.Set: _NO_LIST.format("set"),
    ast.SetComp: _NO_LIST.format("set"),
    ast.JoinedStr: _TEXT,
    ast.Try: _NO_TRY.format("try"),
    ast.TryStar: _NO_TRY.format("try"),
    ast.With: _NO_TRY.format("with"),
    ast.Raise: _NO_RAISE.format("raise"),
    ast.Assert: _NO_RAISE.format("assert"),
    ast.Yield: _NO_YIELD.format("yield"),
    ast.YieldFrom: _NO_YIELD.format("yield"),
    ast.Await: _NO_YIELD.format("await"),
    ast.Import: _OUTSIDE.format("import"),
    ast.ImportFrom: _OUTSIDE.format("import"),
    ast.ClassDef: _OUTSIDE.format("class"),
    ast.Global: "a kernel sets no globals: write the value to an array",
    ast.Nonlocal: "a kernel sets no variable of a function around it: write the value to an array",
    ast.Delete: "a kernel has no del: leave it out",
    ast.NamedExpr: "a kernel has no :=, so assign on a line of its own",
}

BUILTINS = {
    "abs", "bool", "complex", "divmod", "enumerate", "float", "int", "isinstance", "len", "max", "min", "ord", "pow",
    "print", "range", "round", "slice", "sum", "tuple", "type", "zip",
}  # fmt: skip
STATIC_ONLY = {"all", "any"}  # functions that take a generator over static(...), and nothing else
_NUMPY = {
    "arccos", "arcsin", "arctan", "arctan2", "cos", "cosh", "degrees", "fmax", "fmin", "hypot", "isnan", "log", "log10",
    "log2", "maximum", "minimum", "radians", "real", "sin", "sinh", "tan", "tanh",
}  # fmt: skip
_NUMPY_AS = {"abs": "abs", "absolute": "abs", "round": "round", "power": "x ** y", "square": "x * x", "where": "an if"}
_NOT_MATH = {
    "cbrt", "comb", "dist", "exp2", "factorial", "fma", "fsum", "gcd", "isclose", "isqrt", "lcm", "nextafter", "perm",
    "prod", "sumprod", "ulp",
}  # fmt: skip
_RANDOM = {"random", "numpy.random", "secrets"}


def why_not_builtin(name: str) -> str:
    """Why a kernel may not call a builtin function of Python; "" if it may."""
    if name in BUILTINS:
        return ""
    if name in ("list", "dict", "set", "frozenset", "sorted"):
        return _NO_LIST.format(name)
    if name in ("str", "repr", "format", "hex", "bin", "chr"):
        return _TEXT
    return f"a kernel has no {name}()" + ": write it with and, or" * (name in STATIC_ONLY)


def why_not_of_module(module: str, name: str, value: Any) -> str:
    """Why a kernel may not call a function of a module; "" if it may."""
    if module in _RANDOM:
        return "a GPU has no random numbers here: pass them in an array"
    if module == "math" and name in _NOT_MATH:
        return f"a kernel has no math.{name}"
    if module != "numpy" or isinstance(value, type) or name in _NUMPY:
        return ""
    if instead := _NUMPY_AS.get(name, f"math.{name}" if hasattr(math, name) else ""):
        return f"a GPU has no numpy.{name}: write {instead}"
    return f"a GPU has no numpy.{name}: compute with numbers, element by element"
