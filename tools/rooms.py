"""Print the rooms of a checkout: their files, who imports whom, and what is long.

    python tools/rooms.py            this checkout
    python tools/rooms.py TREE       the checkout in folder TREE

A room is a folder directly below one of TREES, or a module that lies beside those folders.
An arrow from one room to another is an import that runs when the importing module is loaded.
tests/library/test_rooms.py checks with the functions of this file what may not be.
"""

import ast
import fnmatch
import statistics
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

TREES = ("kernels", "pennympi", "apps/jacobi", "apps/poisson")
MOST_LINES, MOST_PARAMETERS = 60, 5  # of a function
# What a reader of the solver's default path begins with, and a table of which only the default's row is followed.
SOLVER_STARTS = ("apps/jacobi/solver.py", "apps/jacobi/variants/nvshmem_overlap.py")
SOLVER_TABLE = "apps/jacobi/variants/__init__.py"


LOADED, CALLED, CHECKED = "loaded", "called", "checked"  # when an import runs: with its module, in a function, never


@dataclass(frozen=True)
class Import:
    """One import statement's module, with its leading dots, and the names taken from it (None: the module itself).

    A call of import_module counts as one, with stars in place of what is computed.
    when: LOADED, CALLED, or CHECKED for what only type checkers see
    """

    module: str
    names: tuple[str, ...] | None
    when: str


@dataclass(frozen=True)
class Function:
    """A function or method; ``parameters`` are without self and cls."""

    source: "Source"
    name: str
    n_lines: int
    parameters: tuple[str, ...]
    node: ast.FunctionDef | ast.AsyncFunctionDef

    @property
    def where(self) -> str:
        return f"{self.source.path}:{self.name}"

    @property
    def is_stub(self) -> bool:
        """True where the body has a docstring and errors, and nothing else."""
        return all(
            isinstance(line, ast.Raise) or (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))
            for line in self.node.body
        )

    @property
    def unused(self) -> tuple[str, ...]:
        """The parameters that the body never reads."""
        read = {node.id for line in self.node.body for node in ast.walk(line) if isinstance(node, ast.Name)}
        return tuple(name for name in self.parameters if name not in read)


@dataclass(frozen=True)
class Source:
    """One Python file.  path: from the checkout's folder, with slashes"""

    path: str
    text: str

    @property
    def n_lines(self) -> int:
        return len(self.text.splitlines())

    @cached_property
    def syntax(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        """Every import, wherever it stands."""
        return tuple(_imports([self.syntax], LOADED))

    @cached_property
    def functions(self) -> tuple[Function, ...]:
        """Every function, methods and nested functions included, named as "Class.method" and "outer.inner"."""
        return tuple(_functions(self, self.syntax, ""))

    def targets(self, one: Import) -> list[str]:
        """Modules that an import may mean, as dotted paths from the checkout's folder: "pennympi.cuda.heap"."""
        dots = len(one.module) - len(one.module.lstrip("."))
        base = ".".join(self.path.split("/")[:-dots]) if dots else ""
        whole = ".".join(filter(None, [base, one.module.lstrip(".")]))
        return [whole, *(f"{whole}.{name}" for name in one.names or ())]


def _imports(nodes: Iterable[ast.AST], when: str) -> Iterator[Import]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, None, when) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield Import("." * node.level + (node.module or ""), tuple(alias.name for alias in node.names), when)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module") and node.args:
            yield from (Import(module, None, when) for module in _modules(node.args[0]))
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            yield from _imports(node.body, CHECKED)
            yield from _imports(node.orelse, when)
        else:
            function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _imports(ast.iter_child_nodes(node), CALLED if function else when)


def _modules(given: ast.expr) -> list[str]:
    """The module that import_module is given, with a star for each part that is computed; none where all of it is."""
    parts = given.values if isinstance(given, ast.JoinedStr) else [given]
    module = "".join(str(part.value) if isinstance(part, ast.Constant) else "*" for part in parts)
    return [] if module.startswith("*") else [module]


def _functions(source: Source, node: ast.AST, prefix: str) -> Iterator[Function]:
    for child in ast.iter_child_nodes(node):
        name = f"{prefix}{getattr(child, 'name', '')}"
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            given = child.args
            every = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
            parameters = tuple(one.arg for one in every if one.arg not in ("self", "cls"))
            yield Function(source, name, child.end_lineno - child.lineno + 1, parameters, child)
        deeper = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        yield from _functions(source, child, f"{name}." if deeper else prefix)


def read(root: Path, folder: str) -> dict[str, Source]:
    """The sources below a folder of the checkout at ``root``, by path, without those that are reached through links."""
    found = {}
    for path in sorted((root / folder).rglob("*.py")):
        inside = path.relative_to(root)
        if not any((root / part).is_symlink() for part in (inside, *inside.parents)):
            found[inside.as_posix()] = Source(inside.as_posix(), path.read_text())
    return found


def room_of(path: str) -> str:
    """The room of a file: "job" for pennympi/job/control.py, "team" for pennympi/team.py."""
    tree = next(tree for tree in TREES if path.startswith(f"{tree}/"))
    first, _, deeper = path.removeprefix(f"{tree}/").partition("/")
    return first if deeper else first.removesuffix(".py")


def resolve(sources: dict[str, Source], source: Source, one: Import) -> set[str]:
    """Paths of the files among ``sources`` that an import takes something from."""
    whole, *names = source.targets(one)
    modules = [_files(sources, name) for name in names]
    if not all(modules) or not names:  # a name that is no module is one of the package's own
        modules.append(_files(sources, whole))
    return {path for paths in modules for path in paths}


def _files(sources: dict[str, Source], module: str) -> list[str]:
    path = module.replace(".", "/")
    return [found for end in (".py", "/__init__.py") for found in fnmatch.filter(sources, f"{path}{end}")]


def arrows(sources: dict[str, Source], *when: str) -> dict[str, dict[str, list[str]]]:
    """{room: {room that it imports: ["file -> file", ...]}} by the imports that run then."""
    graph: dict[str, dict[str, list[str]]] = {room_of(path): {} for path in sources}
    for path, source in sources.items():
        for one in source.imports:
            if one.when in when:
                for target in sorted(resolve(sources, source, one)):
                    if room_of(target) != room_of(path):
                        graph[room_of(path)].setdefault(room_of(target), []).append(f"{path} -> {target}")
    return graph


def cycles(graph: dict[str, dict[str, list[str]]]) -> list[tuple[str, ...]]:
    """The sets of rooms that import one another, directly or over others: [] where the rooms are in an order."""
    reached = {room: _reached(graph, room) for room in graph}
    knots = {tuple(sorted(other for other in reached[room] if room in reached[other])) for room in graph}
    return sorted(knot for knot in knots if knot)


def _reached(graph: dict[str, dict[str, list[str]]], room: str) -> set[str]:
    seen: set[str] = set()
    ahead = list(graph[room])
    while ahead:
        one = ahead.pop()
        if one not in seen:
            seen.add(one)
            ahead += graph[one]
    return seen


def reachable(sources: dict[str, Source], starts: tuple[str, ...], not_followed: str = "") -> set[str]:
    """The files that some files import, those included, and so on; the imports of one file may be left out."""
    seen: set[str] = set()
    ahead = [start for start in starts if start in sources]
    while ahead:
        path = ahead.pop()
        if path not in seen:
            seen.add(path)
            if path != not_followed:
                run = [one for one in sources[path].imports if one.when != CHECKED]
                ahead += [target for one in run for target in resolve(sources, sources[path], one)]
    return seen


# The tables ---------------------------------------------------------------------------


def print_rooms(tree: str, sources: dict[str, Source]) -> None:
    graph = arrows(sources, LOADED)
    print(f"\n{tree}: {_sizes(sources)}\n")
    print(f"{'room':<18}{'files':>5}{'lines':>7}{'longest':>9}  imports (number of imports)")
    folders = {room_of(path) for path in sources if path.removeprefix(f"{tree}/").count("/")}
    for room in sorted(graph, key=lambda room: (room not in folders, room)):
        lines = [source.n_lines for path, source in sources.items() if room_of(path) == room]
        out = ", ".join(f"{other} ({len(graph[room][other])})" for other in sorted(graph[room]))
        name = f"{room}/" if room in folders else f"{room}.py"
        print(f"{name:<18}{len(lines):>5}{sum(lines):>7}{max(lines):>9}  {out or '-'}")
    print(f"cycles: {'; '.join(' <-> '.join(knot) for knot in cycles(graph)) or 'none'}")
    knots = cycles(arrows(sources, LOADED, CALLED))
    print(f"cycles with the imports inside functions: {'; '.join(map(' <-> '.join, knots)) or 'none'}")


def _sizes(sources: dict[str, Source]) -> str:
    lines = {path: source.n_lines for path, source in sources.items()}
    longest = max(lines, key=lambda path: lines[path])
    median = statistics.median(lines.values())
    return f"{len(lines)} files, {sum(lines.values())} lines, median {median:g}, longest {lines[longest]} ({longest})"


def print_functions(sources: dict[str, Source]) -> None:
    functions = [one for source in sources.values() for one in source.functions]
    long = sorted((one for one in functions if one.n_lines > MOST_LINES), key=lambda one: -one.n_lines)
    wide = [one for one in functions if len(one.parameters) > MOST_PARAMETERS]
    print(f"\nfunctions of more than {MOST_LINES} lines: {len(long)}")
    for one in long:
        print(f"{one.n_lines:>5}  {one.where}")
    print(f"\nfunctions of more than {MOST_PARAMETERS} parameters: {len(wide)}")
    for tree in TREES:
        counts = sorted(len(one.parameters) for one in wide if one.source.path.startswith(f"{tree}/"))
        print(f"{len(counts):>5}  {tree}{f', at most {counts[-1]}' if counts else ''}")


def print_solver(sources: dict[str, Source]) -> None:
    path = reachable(sources, SOLVER_STARTS, SOLVER_TABLE)
    whole = reachable(sources, SOLVER_STARTS)
    print("\nthe solver's default path, among the files of apps/jacobi:")
    for found, what in ((path, "with the default's row of the table of variants"), (whole, "with all rows")):
        print(f"{sum(sources[one].n_lines for one in found):>6} lines in {len(found)} of {len(sources)} files, {what}")


def main() -> None:
    if len(sys.argv) > 2 or sys.argv[1:2] in (["-h"], ["--help"]):
        sys.exit(__doc__)
    root = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parents[1]
    trees = {tree: read(root, tree) for tree in TREES}
    every = {path: source for sources in trees.values() for path, source in sources.items()}
    print(f"all: {_sizes(every)}")
    for tree, sources in trees.items():
        print_rooms(tree, sources)
    print_functions(every)
    print_solver(trees["apps/jacobi"])


if __name__ == "__main__":
    main()
