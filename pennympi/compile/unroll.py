"""Static loops and static parameters, written out before a compiler sees them: Numba unrolls no loop over a tuple.

    @unrolled
    def row(u, d):
        return tuple(u[k] + d[k] for k in static(WIDTH))       # (u[0] + d[0], u[1] + d[1], ...)

    def level(depth: Static[int], u): ...
    specialised(level, 3)                                      # level(u), in which depth is 3

Known are: the numbers, texts and tuples in a function's globals and closure, its ``Static`` parameters, the variable of a
loop over ``static(...)``, and a variable that is assigned once, from what is known.  A condition that is known leaves one
of its branches.  A call of a function with ``Static`` parameters becomes a call of its copy for these values; a call of a
function that returns ``Static`` becomes its result.  A generator over ``static(...)`` may stand in tuple, sum, min, max,
all and any.  Triton (tl.static_range, tl.constexpr), Taichi (ti.static) and Warp do the same.
"""

import ast
import copy
import inspect
import textwrap
from collections.abc import Callable, Iterator
from functools import lru_cache, reduce
from types import CodeType, FunctionType, ModuleType
from typing import Any

from ..kernels.static import STATIC, Static, static

__all__ = ["Static", "StaticError", "specialised", "static", "unrolled"]

_MOST_KEPT = 4096
_CALLED = {min, max, abs, len, int, float, bool, range, sum, divmod, tuple}
_JOINED = {"sum": ast.Add(), "all": ast.And(), "any": ast.Or()}
_CONSTANTS = (int, float, str, bytes, bool, type(None))
_UNKNOWN = object()


class StaticError(TypeError):
    """A static loop or parameter depends on what is not known when the kernel is compiled."""


def specialised(function: Callable[..., Any], *values: Any) -> FunctionType:
    """The function for these values of its first parameters, which are ``Static``; everything static is written out.

    Raises StaticError where a value that must be known is not.
    """
    names = _static_parameters(function)[: len(values)]
    return _written(function, tuple(zip(names, values, strict=True)))


def unrolled(function: Callable[..., Any]) -> FunctionType:
    """The function, with its static loops, and those of the functions that it calls, written out."""
    return specialised(function)


def uses_static(function: Callable[..., Any]) -> bool:
    """Whether a function, or one that it calls, has a static loop or calls a function with static parameters."""
    functions, k = [function], 0
    while k < len(functions):
        for value in _values_read(functions[k]):
            if value is static or (isinstance(value, FunctionType) and _static_parameters(value)):
                return True
            if isinstance(value, FunctionType) and value not in functions:
                functions.append(value)
        k += 1
    return False


def _values_read(function: Any) -> Iterator[Any]:
    """The values of the globals and the closure of a function."""
    for name in function.__code__.co_names:
        if name in function.__globals__:
            yield function.__globals__[name]
    for cell in function.__closure__ or ():
        yield _content(cell)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return _UNKNOWN


@lru_cache(_MOST_KEPT)
def _annotations(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations, evaluated where that is possible."""
    try:
        return inspect.get_annotations(function, eval_str=True)
    except (NameError, AttributeError, TypeError):
        return {}


def _is_static(annotation: Any) -> bool:
    return STATIC in getattr(annotation, "__metadata__", ())


def _static_parameters(function: Any) -> list[str]:
    return [name for name, one in _annotations(function).items() if name != "return" and _is_static(one)]


@lru_cache(_MOST_KEPT)
def _kept(function: FunctionType, values: tuple[tuple[str, Any], ...], types: tuple[type, ...]) -> FunctionType:
    return _Writer(function, dict(values)).function()


def _written(function: Any, values: tuple[tuple[str, Any], ...]) -> FunctionType:
    """The function for some values.  Copies of functions of the library are kept: nothing that they read changes."""
    if not values and not uses_static(function):
        return function
    if function.__module__.startswith(__name__.split(".")[0] + "."):
        try:
            return _kept(function, values, tuple(type(value) for _, value in values))  # since 1 == 1.0 == True
        except TypeError as error:
            if isinstance(error, StaticError):
                raise
    return _Writer(function, dict(values)).function()


def _tree(function: FunctionType) -> ast.FunctionDef:
    """The text of a function.  Raises StaticError if the file is no longer what the function was made from."""
    code, cells = function.__code__, function.__code__.co_freevars
    try:
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    except (OSError, SyntaxError):
        raise StaticError(
            f"{_place(function)}: a static loop needs the text of its function, in a file or cell"
        ) from None
    if not isinstance(tree, ast.FunctionDef):
        raise StaticError(f"{_place(function)}: a static loop must be in a function that def makes")
    ast.increment_lineno(tree, code.co_firstlineno - 1)
    tree.decorator_list = []
    again = _code_of(copy.deepcopy(tree), cells, code)
    if (again.co_code, again.co_varnames) != (code.co_code, code.co_varnames):
        raise StaticError(f"{_place(function)}: the file has changed since it was imported; start the program again")
    return tree


def _place(function: Any, line: int | None = None) -> str:
    return f"{function.__code__.co_filename}:{line or function.__code__.co_firstlineno}"


def _code_of(tree: ast.FunctionDef, cells: tuple[str, ...], code: CodeType) -> CodeType:
    """The code object of a function that is nested in one with the variables ``cells``."""
    nested = ast.FunctionDef(**vars(tree) | {"name": "function_"})  # its own name may be a global that it calls
    maker = ast.parse(f"def make({', '.join(cells)}): pass")
    assert isinstance(maker.body[0], ast.FunctionDef)
    maker.body[0].body = [nested]
    made = compile(ast.fix_missing_locations(maker), code.co_filename, "exec", dont_inherit=True)
    outer = next(one for one in made.co_consts if isinstance(one, CodeType))
    inner = next(one for one in outer.co_consts if isinstance(one, CodeType) and one.co_name == nested.name)
    return inner.replace(co_name=code.co_name, co_qualname=code.co_qualname)


class _Writer(ast.NodeTransformer):
    """Writes out one function for some values."""

    def __init__(self, function: FunctionType, values: dict[str, Any]):
        self._function = function
        self._values = values
        self._tree = _tree(function)
        self._known = dict(values)
        self._globals = dict(function.__globals__)
        self._cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        stores = [node.id for node in ast.walk(self._tree) if isinstance(node, ast.Name) and not _is_load(node)]
        self._assigned = {name: stores.count(name) for name in stores}
        arguments = self._tree.args
        self._parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        self._parameters += [one for one in (arguments.vararg, arguments.kwarg) if one]

    def function(self) -> FunctionType:
        """The copy of the function."""
        lacking = [name for name in _static_parameters(self._function) if name not in self._values]
        if lacking:
            raise StaticError(f"{_place(self._function)}: {self._tree.name} needs values of {', '.join(lacking)}")
        signature = inspect.signature(self._function).parameters
        left = [one for name, one in signature.items() if name not in self._values]
        self._tree.body = self._lines(self._tree.body) or [ast.Pass()]
        self._remove_parameters()
        original = self._function
        code = _code_of(self._tree, tuple(self._cells), original.__code__)
        closure = tuple(self._cells[name] for name in code.co_freevars)
        defaults = tuple(one.default for one in left if one.default is not one.empty and one.kind is not one.KEYWORD_ONLY)
        result = FunctionType(code, self._globals, original.__name__, defaults or None, closure)
        result.__kwdefaults__ = original.__kwdefaults__
        result.__annotations__ = {k: v for k, v in original.__annotations__.items() if k not in self._values}
        result.__module__, result.__doc__ = original.__module__, original.__doc__
        shown = [f"{name}={value}" for name, value in self._values.items() if isinstance(value, _CONSTANTS)]
        result.__qualname__ = original.__qualname__ + (f"[{', '.join(shown)}]" if shown else "")
        return result

    def _remove_parameters(self) -> None:
        arguments = self._tree.args
        for kind in ("posonlyargs", "args", "kwonlyargs"):
            setattr(arguments, kind, [one for one in getattr(arguments, kind) if one.arg not in self._values])
        arguments.defaults, arguments.kw_defaults = [], [None for _ in arguments.kwonlyargs]

    def _refuse(self, node: ast.AST, why: str) -> StaticError:
        return StaticError(f"{_place(self._function, getattr(node, 'lineno', None))}: {why}")

    # What is known

    def _lookup(self, name: str) -> Any:
        if name in self._known:
            return self._known[name]
        if name in self._assigned or name in (one.arg for one in self._parameters):
            return _UNKNOWN
        if name in self._cells:
            return _content(self._cells[name])
        if name in self._globals:
            return self._globals[name]
        builtins = self._globals.get("__builtins__", {})
        return (vars(builtins) if isinstance(builtins, ModuleType) else builtins).get(name, _UNKNOWN)

    def _value(self, node: ast.expr) -> Any:
        """The value of an expression, _UNKNOWN where it is not known."""
        names = {one.id: self._lookup(one.id) for one in ast.walk(node) if isinstance(one, ast.Name)}
        if any(value is _UNKNOWN for value in names.values()) or not all(map(self._may_evaluate, ast.walk(node))):
            return _UNKNOWN
        try:
            return eval(compile(ast.Expression(node), self._function.__code__.co_filename, "eval"), dict(names))
        except Exception:  # of any kind: then it is left to the compiler
            return _UNKNOWN

    def _may_evaluate(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Call):
            if node.keywords or any(isinstance(one, ast.Starred) for one in node.args):
                return False
            called = self._called(node)
            return _returns_static(called) or any(called is one for one in _CALLED)
        return not isinstance(
            node, ast.Lambda | ast.GeneratorExp | ast.ListComp | ast.NamedExpr | ast.Starred | ast.Await
        )

    def _called(self, node: ast.Call) -> Any:
        """The function of a call; _UNKNOWN for any that depends on another call."""
        if any(isinstance(one, ast.Call) for one in ast.walk(node.func)):
            return _UNKNOWN
        return self._value(node.func)

    def _named(self, value: Any, name: str) -> ast.Name:
        """A global name for a value."""
        k, found = 0, name
        while self._globals.get(found, value) is not value or found in self._assigned:
            k += 1
            found = f"{name}_{k}"
        self._globals[found] = value
        return ast.Name(found, ast.Load())

    # Expressions

    def visit(self, node: ast.AST) -> Any:
        if not isinstance(node, ast.expr) or isinstance(node, ast.Constant) or not _is_load(node):
            return super().visit(node)
        value = self._value(node)
        if _is_constant(value):
            return ast.copy_location(ast.Constant(value), node)
        is_name = isinstance(node, ast.Name | ast.Attribute)
        if is_name and callable(value) and (isinstance(node, ast.Attribute) or node.id in self._known):
            if isinstance(node, ast.Attribute) and self._is_module(node.value):
                return super().visit(node)
            return ast.copy_location(self._named(value, getattr(value, "__name__", "function")), node)
        return super().visit(node)

    def _is_module(self, node: ast.expr) -> bool:
        return isinstance(self._value(node), ModuleType)

    def visit_Call(self, node: ast.Call) -> Any:
        inner = node.args[0] if node.args else None
        if isinstance(inner, ast.GeneratorExp) and self._bounds(inner.generators[0].iter) is not None:
            return ast.copy_location(self._joined(node, list(self._elements(inner, inner.generators))), node)
        called = self._called(node)
        if isinstance(called, FunctionType) and not hasattr(called, "is_primitive"):
            return self._call(node, called)
        return self.generic_visit(node)

    def _call(self, node: ast.Call, called: FunctionType) -> Any:
        """A call of a plain function: of its copy for the values of its static parameters."""
        wanted = set(_static_parameters(called))
        if not wanted and not uses_static(called):
            return self.generic_visit(node)
        names = list(inspect.signature(called).parameters)
        values, positional, keywords = {}, [], []
        for k, argument in enumerate(node.args):
            name = names[k] if k < len(names) and not any(isinstance(one, ast.Starred) for one in node.args[:k]) else ""
            if name in wanted:
                values[name] = self._must_know(argument, f"{name} of {called.__name__}")
            else:
                positional.append(argument)
        for keyword in node.keywords:
            if keyword.arg in wanted:
                values[keyword.arg] = self._must_know(keyword.value, f"{keyword.arg} of {called.__name__}")
            else:
                keywords.append(keyword)
        defaults = inspect.signature(called).parameters
        for name in wanted - set(values):
            if defaults[name].default is defaults[name].empty:
                raise self._refuse(node, f"{called.__name__} needs {name}")
            values[name] = defaults[name].default
        ordered = tuple((name, values[name]) for name in _static_parameters(called))
        made = self._named(_written(called, ordered), called.__name__)
        return ast.copy_location(self.generic_visit(ast.Call(made, positional, keywords)), node)

    def _must_know(self, node: ast.expr, what: str) -> Any:
        value = self._value(node)
        if value is _UNKNOWN:
            text = ast.unparse(node)
            raise self._refuse(node, f"{what} is static, and {text} is not known when the kernel is compiled")
        return value

    def _bounds(self, call: ast.expr) -> range | None:
        """The numbers of ``static(...)``; None for anything else."""
        if (
            not isinstance(call, ast.Call)
            or not isinstance(call.func, ast.Name)
            or self._lookup(call.func.id) is not static
        ):
            return None
        return range(*(self._must_know(one, "a bound of a loop") for one in call.args))

    def _elements(self, inner: ast.GeneratorExp, generators: list[ast.comprehension]) -> Iterator[ast.expr]:
        """The elements of a generator, written out."""
        if not generators:
            yield self.visit(copy.deepcopy(inner.elt))
            return
        loop = generators[0]
        numbers = self._bounds(loop.iter)
        if numbers is None or not isinstance(loop.target, ast.Name):
            raise self._refuse(loop.iter, "each loop of this generator must be over static(...)")
        for k in numbers:
            self._known[loop.target.id] = k
            if all(self._must_know(one, "the condition of a generator") for one in loop.ifs):
                yield from self._elements(inner, generators[1:])
        self._known.pop(loop.target.id, None)

    def _joined(self, node: ast.Call, parts: list[ast.expr]) -> ast.expr:
        """tuple(...), sum(...) and so on of the parts."""
        name, others = ast.unparse(node.func), [self.visit(one) for one in node.args[1:]]
        if name == "tuple":
            return ast.Tuple(parts, ast.Load())
        if name in ("all", "any"):
            return ast.BoolOp(_JOINED[name], parts) if len(parts) > 1 else (parts or [ast.Constant(name == "all")])[0]
        if name == "sum":
            terms = [*others, *parts] or [ast.Constant(0)]
            return reduce(lambda x, y: ast.BinOp(x, ast.Add(), y), terms)
        return ast.Call(node.func, [*parts, *others], node.keywords)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        chosen = self._value(node.test)
        if chosen is _UNKNOWN:
            return self.generic_visit(node)
        return self.visit(node.body if chosen else node.orelse)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        """``known and x``: x, or what is known."""
        ends, values = isinstance(node.op, ast.Or), []
        for one in node.values:
            value = self._value(one)
            if value is _UNKNOWN:
                values.append(self.visit(one))
            elif bool(value) is ends:
                values.append(self.visit(one))
                break
        if not values:
            return self.visit(node.values[-1])
        return values[0] if len(values) == 1 else ast.copy_location(ast.BoolOp(node.op, values), node)

    # Statements

    def _lines(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """The lines of a block, written out; none after one that returns."""
        found: list[ast.stmt] = []
        for line in body:
            written = self.visit(line)
            found += written if isinstance(written, list) else [] if written is None else [written]
            if found and isinstance(found[-1], ast.Return | ast.Raise | ast.Continue | ast.Break):
                break
        return found

    def visit_For(self, node: ast.For) -> Any:
        numbers = self._bounds(node.iter)
        if numbers is None:
            return self._block(node)
        if not isinstance(node.target, ast.Name) or node.orelse or _leaves(node.body):
            raise self._refuse(node, "a static loop has one variable, and neither break nor continue nor else")
        found: list[ast.stmt] = []
        for k in numbers:
            self._known[node.target.id] = k
            found += self._lines(copy.deepcopy(node.body))
            if found and isinstance(found[-1], ast.Return):
                break
        return found

    def visit_While(self, node: ast.While) -> Any:
        return self._block(node)

    def visit_With(self, node: ast.With) -> Any:
        return self._block(node)

    def _block(self, node: Any) -> Any:
        body, orelse = node.body, getattr(node, "orelse", [])
        node.body, node.orelse = [], []
        self.generic_visit(node)
        node.body, node.orelse = self._lines(body) or [ast.Pass()], self._lines(orelse)
        return node

    def visit_If(self, node: ast.If) -> Any:
        chosen = self._value(node.test)
        if chosen is _UNKNOWN:
            node.test = self.visit(node.test)
            chosen = node.test.value if isinstance(node.test, ast.Constant) else _UNKNOWN
        if chosen is _UNKNOWN:
            node.body, node.orelse = self._lines(node.body) or [ast.Pass()], self._lines(node.orelse)
            return node
        return self._lines(node.body if chosen else node.orelse)

    def visit_Assign(self, node: ast.Assign) -> Any:
        target = node.targets[0]
        if len(node.targets) == 1 and isinstance(target, ast.Name):
            return None if self._keep(target, node.value) else self.generic_visit(node)
        whole = self._value(node.value) if isinstance(target, ast.Tuple) else _UNKNOWN
        if isinstance(whole, tuple) and len(whole) == len(target.elts):
            pairs = zip(target.elts, whole, strict=True)
            if all(self._keep_value(name, value) for name, value in pairs):
                return None
        if (
            isinstance(target, ast.Tuple)
            and isinstance(node.value, ast.Tuple)
            and len(target.elts) == len(node.value.elts)
        ):
            values = [self._value(one) for one in node.value.elts]
            pairs = list(zip(target.elts, node.value.elts, values, strict=True))
            left = [(name, one) for name, one, value in pairs if not self._keep_value(name, value)]
            if len(left) == 1 or not left:
                return [ast.copy_location(ast.Assign([name], self.visit(one)), node) for name, one in left]
            target.elts, node.value.elts = [name for name, _ in left], [one for _, one in left]
        return self.generic_visit(node)

    def _keep(self, target: ast.expr, value: ast.expr) -> bool:
        return self._keep_value(target, self._value(value))

    def _keep_value(self, target: ast.expr, value: Any) -> bool:
        """Whether a variable is known from here on."""
        if value is _UNKNOWN or not isinstance(target, ast.Name):
            return False
        if target.id == "_":
            return True
        if self._assigned[target.id] != 1:
            return False
        if not (_is_constant(value) or callable(value) or hasattr(value, "_fields")):
            return False
        self._known[target.id] = value
        return True


def _is_load(node: Any) -> bool:
    return isinstance(getattr(node, "ctx", ast.Load()), ast.Load)


def _is_hashable(value: Any) -> bool:
    return getattr(type(value), "__hash__", None) is not None


def _returns_static(function: Any) -> bool:
    return callable(function) and _is_hashable(function) and _is_static(_annotations(function).get("return"))


def _is_constant(value: Any) -> bool:
    if type(value) is tuple:
        return all(map(_is_constant, value))
    return isinstance(value, _CONSTANTS)


def _leaves(body: list[ast.stmt]) -> bool:
    """Whether a loop's body has a break or continue of this loop."""
    nested = (ast.For, ast.While, ast.FunctionDef)
    return any(
        isinstance(line, ast.Break | ast.Continue)
        or (
            not isinstance(line, nested)
            and _leaves([one for one in ast.iter_child_nodes(line) if isinstance(one, ast.stmt)])
        )
        for line in body
    )
