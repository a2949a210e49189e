"""Who may import whom, and how long a file may be; tools/rooms.py reads the sources, and prints what is."""

import ast
import statistics
from pathlib import Path

import pytest
import rooms
from rooms import CALLED, CHECKED, LOADED, Source

import pennympi

ROOT = Path(__file__).resolve().parents[2]
LONGEST, MEDIAN = 400, 120  # lines of a file
OF_A_KERNEL = {"collections.abc", "dataclasses", "typing", "__future__"}
ONLY_INSIDE = {"cupy", "nvshmem", "numba", "numba_cuda", "cuda", "torch", "apps", "tests"}
ONLY_ON_HOST = {"network.py", "receive.py"}  # what NVSHMEM does for GPUs
WITHOUT_TWIN = {
    "aside.py", "given_up.py", "peers.py", "remote.py", "world.py", "words.py", "packets.py", "stubs.py",
    "host_heap.py", "links.py",
}  # fmt: skip
KERNELS, APPS, LIBRARY = (rooms.read(ROOT, folder) for folder in ("kernels", "apps", "pennympi"))
APP_TREES = {folder: rooms.read(ROOT, folder) for folder in ("apps/jacobi", "apps/poisson")}
TREES = {"kernels": KERNELS, "pennympi": LIBRARY, **APP_TREES}
WITH_DEVICES = {"host", "cuda", "bench"}  # rooms that import a compiler or a device


def each(sources):
    return pytest.mark.parametrize("source", sources, ids=lambda source: source.path)


def targets(source, *when):
    """Modules that the imports of a file may mean; those that run then, else all."""
    return [target for one in source.imports if not when or one.when in when for target in source.targets(one)]


def backend(name):
    return [source for source in LIBRARY.values() if rooms.room_of(source.path) == name]


def test_the_rooms_are_there():
    assert len(KERNELS) > 10 and len(APPS) > 10 and len(LIBRARY) > 30
    for link in ("kernels", "apps"):
        assert (ROOT / "pennympi" / link).resolve() == ROOT / link


@each(KERNELS.values())
def test_kernels_import_their_siblings_only(source):
    for one in source.imports:
        if one.module.startswith("."):
            inside = all(target.startswith("kernels") for target in source.targets(one))
            assert inside, f"{one.module} leaves kernels/"
        else:
            assert one.module in OF_A_KERNEL, f"{one.module} is not for kernels"


@each([source for source in LIBRARY.values() if rooms.room_of(source.path) not in WITH_DEVICES])
def test_the_library_needs_no_device(source):
    for target in targets(source, LOADED, CHECKED):
        assert target.split(".")[0] not in ONLY_INSIDE, f"{target} at module level"
        assert not target.startswith(("pennympi.cuda", "pennympi.host", "pennympi.apps")), f"{target} at module level"


@each(backend("host") + backend("cuda"))
def test_the_backends_do_not_know_one_another(source):
    on_host = rooms.room_of(source.path) == "host"
    other = "pennympi.cuda" if on_host else "pennympi.host"
    foreign = {"cupy", "nvshmem", "numba_cuda", "cuda"} if on_host else set()
    for target in targets(source):
        assert not target.startswith((other, "pennympi.apps", "apps", "tests")), target
        assert target.split(".")[0] not in foreign and not (foreign and target.startswith("numba.cuda")), target


def test_the_backends_are_twins():
    host, cuda = ({Path(source.path).name for source in backend(name)} for name in ("host", "cuda"))
    assert host - cuda <= ONLY_ON_HOST
    assert cuda - host <= WITHOUT_TWIN


@each(APPS.values())
def test_apps_use_public_names_only(source):
    for one in source.imports:
        if one.module == "pennympi" and one.names:
            assert set(one.names) <= set(pennympi.__all__)
        elif one.module.split(".")[0] == "pennympi" and one.module != "pennympi":
            assert one.module in ("pennympi.kernels.block", "pennympi.kernels.in_kernel")
        assert one.module.split(".")[0] not in ("kernels", "tests", "nvshmem")
    for node in ast.walk(source.syntax):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "pennympi":
            assert node.attr in {*pennympi.__all__, "__version__"}, f"pennympi.{node.attr}"


def test_numba_in_two_files_of_an_app_at_most():
    using = [
        path for path, source in APPS.items() if {"numba", "numba_cuda"} & {t.split(".")[0] for t in targets(source)}
    ]
    assert len(using) <= 2, using


@pytest.mark.parametrize("tree", TREES)
def test_rooms_import_in_one_direction(tree):
    """No room imports one that imports it, directly or over others, not even inside a function.

    A file beside the rooms is a room of its own here. Imports for type checkers alone do not count.
    """
    graph = rooms.arrows(TREES[tree], LOADED, CALLED)
    assert len(graph) > 10
    knots = rooms.cycles(graph)
    between = {knot: [graph[room][other] for room in knot for other in knot if other in graph[room]] for knot in knots}
    assert not between


def test_files_are_short():
    lines = {path: source.n_lines for path, source in (KERNELS | LIBRARY | APPS).items()}
    assert statistics.median(lines.values()) <= MEDIAN
    assert not {path: n for path, n in lines.items() if n > LONGEST}


def one_file(path, text):
    return {path: Source(path, text)}


def test_what_the_reader_of_sources_reads():
    """Imports by the time at which they run, rooms, cycles over several rooms, and functions."""
    text = """
from typing import TYPE_CHECKING
from ..b import one
if TYPE_CHECKING:
    from ..d import x
else:
    import pennympi.e
class C:
    def method(self, p, *, q=1, **rest):
        from .. import f
        return lambda: import_module(f".made_{p}", __package__)
"""
    a = Source("pennympi/a/file.py", text)
    assert [(one.module, one.names, one.when) for one in a.imports] == [
        ("typing", ("TYPE_CHECKING",), LOADED), ("..b", ("one",), LOADED), ("..d", ("x",), CHECKED),
        ("pennympi.e", None, LOADED), ("..", ("f",), CALLED), (".made_*", None, CALLED),
    ]  # fmt: skip
    sources = {a.path: a} | one_file("pennympi/b/one.py", "from ..e import y") | one_file("pennympi/b/__init__.py", "")
    sources |= one_file("pennympi/d/__init__.py", "from ..a.file import C") | one_file("pennympi/a/made_1.py", "")
    sources |= one_file("pennympi/e.py", "import pennympi.d") | one_file("pennympi/f.py", "from .f import x")
    found = {room: set(out) for room, out in rooms.arrows(sources, LOADED).items()}
    assert found == {"a": {"b", "e"}, "b": {"e"}, "d": {"a"}, "e": {"d"}, "f": set()}
    assert rooms.cycles(rooms.arrows(sources, LOADED)) == [("a", "b", "d", "e")]
    assert rooms.arrows(sources, CALLED)["a"] == {"f": ["pennympi/a/file.py -> pennympi/f.py"]}
    assert rooms.cycles(rooms.arrows(sources, CALLED)) == []
    assert rooms.reachable(sources, ("pennympi/a/file.py",), "pennympi/e.py") == set(sources) - {
        "pennympi/b/__init__.py", "pennympi/d/__init__.py",
    }  # fmt: skip
    (method,) = a.functions
    assert (method.where, method.n_lines) == ("pennympi/a/file.py:C.method", 3)
    assert (method.parameters, method.unused) == (("p", "q", "rest"), ("q", "rest"))
