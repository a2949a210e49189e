"""Who may import whom, and how long a file may be."""

import ast
import statistics
from pathlib import Path

import pytest

import pennympi

ROOT = Path(__file__).resolve().parents[2]
LONGEST, MEDIAN = 400, 120  # lines of a file
OF_A_TEXT = {"collections.abc", "dataclasses", "typing", "__future__"}
ONLY_INSIDE = {"cupy", "nvshmem", "numba", "numba_cuda", "cuda", "torch", "apps", "tests"}
WITHOUT_TWIN = {"aside.py", "given_up.py", "peers.py", "remote.py", "world.py", "words.py", "packets.py", "stubs.py"}


def files(folder, pattern="**/*.py"):
    """The sources of a room; links to other rooms are not followed."""
    inside = (ROOT / folder).glob(pattern)
    return sorted(p for p in inside if not any(q.is_symlink() for q in (p, *p.parents)) and "__pycache__" not in p.parts)


KERNELS, APPS, LIBRARY = files("kernels"), files("apps"), files("pennympi")
WITH_DEVICES = {"host", "cuda", "bench"}  # rooms that import a compiler or a device
ANYWHERE = [path for path in LIBRARY if path.parts[len(ROOT.parts) + 1] not in WITH_DEVICES]
TEXTS = [path for path in APPS if "pennympi.kernels" in path.read_text()]


def name_of(path):
    return str(path.relative_to(ROOT))


def imports(nodes):
    """(module with its leading dots, names taken from it or None) of each import among the nodes."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or ""), [alias.name for alias in node.names]


def everywhere(path):
    return list(imports(ast.walk(ast.parse(path.read_text()))))


def at_module_level(path):
    """Imports that run when the module is imported: those outside functions."""

    def outside(node):
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                yield child
                yield from outside(child)

    return list(imports(outside(ast.parse(path.read_text()))))


def targets(path, imported):
    """Modules that an import may mean, as paths from the root: "pennympi.cuda.heap"."""
    for module, names in imported:
        dots = len(module) - len(module.lstrip("."))
        base = ".".join(path.relative_to(ROOT).parts[:-dots]) if dots else ""
        whole = ".".join(filter(None, [base, module.lstrip(".")]))
        yield whole
        yield from (f"{whole}.{name}" for name in names or ())


def test_the_rooms_are_there():
    assert len(KERNELS) > 10 and len(APPS) > 10 and len(LIBRARY) > 30 and len(TEXTS) >= 1
    for link in ("kernels", "apps"):
        assert (ROOT / "pennympi" / link).resolve() == ROOT / link


@pytest.mark.parametrize("path", KERNELS, ids=name_of)
def test_kernels_import_their_siblings_only(path):
    for module, names in everywhere(path):
        if module.startswith("."):
            inside = all(target.startswith("kernels") for target in targets(path, [(module, names)]))
            assert inside, f"{module} leaves kernels/"
        else:
            assert module in OF_A_TEXT, f"{module} is not for kernel texts"


@pytest.mark.parametrize("path", ANYWHERE, ids=name_of)
def test_the_library_needs_no_device(path):
    for target in targets(path, at_module_level(path)):
        first = target.split(".")[0]
        assert first not in ONLY_INSIDE, f"{target} at module level"
        assert not target.startswith(("pennympi.cuda", "pennympi.host", "pennympi.apps")), f"{target} at module level"


@pytest.mark.parametrize("path", files("pennympi/host") + files("pennympi/cuda"), ids=name_of)
def test_the_backends_do_not_know_one_another(path):
    other = "pennympi.cuda" if path.parent.name == "host" else "pennympi.host"
    foreign = {"cupy", "nvshmem", "numba_cuda", "cuda"} if path.parent.name == "host" else set()
    for target in targets(path, everywhere(path)):
        assert not target.startswith((other, "pennympi.apps", "apps", "tests")), target
        assert target.split(".")[0] not in foreign and not (foreign and target.startswith("numba.cuda")), target


def test_the_backends_are_twins():
    host, cuda = ({path.name for path in files(f"pennympi/{name}")} for name in ("host", "cuda"))
    assert host <= cuda
    assert cuda - host <= WITHOUT_TWIN


@pytest.mark.parametrize("path", APPS, ids=name_of)
def test_apps_use_public_names_only(path):
    for module, names in everywhere(path):
        if module == "pennympi" and names:
            assert set(names) <= set(pennympi.__all__)
        elif module.split(".")[0] == "pennympi" and module != "pennympi":
            assert module == "pennympi.kernels.block"
        assert module.split(".")[0] not in ("kernels", "tests", "nvshmem")
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "pennympi":
            assert node.attr in {*pennympi.__all__, "__version__"}, f"pennympi.{node.attr}"


def test_numba_in_two_files_of_an_app_at_most():
    using = [p for p in APPS if any(t.split(".")[0] in ("numba", "numba_cuda") for t in targets(p, everywhere(p)))]
    assert len(using) <= 2, using


def test_files_are_short():
    lines = {name_of(p): len(p.read_text().splitlines()) for p in (*KERNELS, *LIBRARY, *APPS)}
    assert statistics.median(lines.values()) <= MEDIAN
    assert not {name: n for name, n in lines.items() if n > LONGEST}
