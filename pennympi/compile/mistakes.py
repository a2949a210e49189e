"""Mistakes in the text of a kernel or formula, found before anything is compiled, so that the error names the line.

The rules are the same for both backends, so that a CPU also refuses what only a GPU can't do.  The compiler checks
functions whose text is not known.
"""

import ast
import inspect
from types import FunctionType
from typing import Any

from .known import read_annotations, returns_static, static_parameters
from .returns import always_returns
from .source import at_line
from .syntax_tree import syntax_tree
from .text_rules import NUMBER, PARAMETER, VALUE, TextRules, kind_of

LIBRARY = __name__.partition(".")[0] + "."
Kinds = tuple[tuple[str, Any], ...]  # (name of a parameter, its kind or record class)


def check_kernel(kernel: FunctionType) -> None:
    """Raise KernelError for the first mistake in the text of a kernel or of a function that it calls."""
    context, *names = inspect.signature(kernel).parameters
    annotations = read_annotations(kernel)
    kinds = {name: kind_of(annotations[name]) if name in annotations else PARAMETER for name in names}
    tree = _tree(kernel)
    if tree and kind_of(annotations.get(context)) not in (None, NUMBER):
        call = f"def {kernel.__name__}(ctx, {context}, ...)"
        raise at_line(kernel, tree.lineno, f"the first parameter of a kernel is ctx: write {call}")
    _Program("kernel").check(kernel, tuple(kinds.items()))


def check_formula(formula: FunctionType) -> None:
    """Raise KernelError for the first mistake in a formula of sweeps, whose parameters and result are numbers."""
    program = _Program("formula")
    program.check(formula, tuple((name, VALUE) for name in inspect.signature(formula).parameters))
    check_returns(formula, "formula")


def _original(function: Any) -> FunctionType:
    """The function as its author wrote it, before static loops were written out."""
    source: tuple[FunctionType, Any] = getattr(function, "written_from", (function, ()))
    return source[0]


def _tree(function: FunctionType) -> Any:
    original = _original(function)
    return syntax_tree(original.__code__, original.__globals__)


class _Program:
    """A kernel or formula and the functions that it calls; each is checked once for each kind of arguments."""

    def __init__(self, role: str):
        self._role, self.is_formula = role, role == "formula"
        self._checked: set[tuple[FunctionType, Kinds]] = set()

    def check(self, function: FunctionType, kinds: Kinds) -> None:
        """Check a function.  Raises KernelError."""
        function = _original(function)
        tree = _tree(function)
        if tree is None or (function, kinds) in self._checked:
            return
        role = "helper" if self._checked else self._role
        self._checked.add((function, kinds))
        TextRules(function, tree, dict(kinds), role, self).check()

    def called(self, function: FunctionType, kinds: list[Any], is_value_used: bool) -> None:
        """Check a function that is called.  kinds: kinds of its first arguments"""
        if function.__module__.startswith(LIBRARY) or returns_static(function):
            return
        names, annotations = inspect.signature(function).parameters, read_annotations(function)
        passed = dict(zip(names, kinds, strict=False))
        known = {name: kind_of(annotations[name]) if name in annotations else passed.get(name) for name in names}
        self.check(function, tuple((name, kind) for name, kind in known.items() if kind is not None))
        if is_value_used and not static_parameters(function):
            check_returns(function, "helper")


def check_returns(function: FunctionType, role: str) -> None:
    """Raise KernelError unless a function returns a value on every path."""
    original, tree = _original(function), _tree(function)
    if isinstance(tree, ast.FunctionDef) and not always_returns(original, tree):
        raise at_line(original, tree.lineno, f"{role} {tree.name} does not return a value on every path")
