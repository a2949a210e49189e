"""The key of a compiled kernel: it changes with everything that the compiler can reach, and with nothing else."""

import importlib.util
import json
import linecache
import subprocess
import sys
import zipfile
import zipimport
from pathlib import Path

import pytest
from key_cases import BEGIN, KERNEL, TEXTS, VALUES, WITHOUT_KEY
from machine.program import TABLES

from pennympi.compile.digest import kernel_hash, keyed
from pennympi.compile.unroll import specialised
from pennympi.kernels.sweep.formula import Stencil, apply_once
from pennympi.kernels.sweep.resident import resident_kernel
from pennympi.stencil.on_cpu.march import march

ROOT = Path(__file__).resolve().parents[2]


def scope_of(declared, read):
    scope = {"__name__": "typed"}
    exec(BEGIN + KERNEL.format(declared, read), scope)  # no file
    return scope


def keys(kernel):
    return kernel_hash(kernel), kernel_hash(kernel, portable=True)


def loaded(path):
    """A program imports the kernel from a file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    linecache.checkcache(str(path))
    return module


@pytest.mark.parametrize("kind", VALUES)
def test_a_value_that_changes(kind):
    declared, read, change = VALUES[kind]
    scope = scope_of(declared, read)
    before, copy = kernel_hash(scope["kernel"]), keyed(scope["kernel"])
    assert before == kernel_hash(scope["kernel"]) == kernel_hash(scope_of(declared, read)["kernel"])
    assert copy is keyed(scope["kernel"])
    exec(change, scope)
    after = kernel_hash(scope["kernel"])
    assert after not in (before, None)
    assert keyed(scope["kernel"]) is not copy and kernel_hash(keyed(scope["kernel"])) == after


@pytest.mark.parametrize("kind", TEXTS)
def test_a_text_that_changes(kind, tmp_path):
    text, old, new = TEXTS[kind]
    found = []
    for version, body in enumerate((text, text.replace(old, new))):
        path = tmp_path / f"version{version}.py"
        path.write_text(body)
        found.append({*keys(loaded(path).kernel)})
    assert not found[0] & found[1] and None not in found[0] | found[1]


@pytest.mark.parametrize("kind", WITHOUT_KEY)
def test_a_value_that_no_key_holds(kind):
    kernel = scope_of(*WITHOUT_KEY[kind])["kernel"]
    assert keys(kernel) == (None, None)
    assert keyed(kernel) is not keyed(kernel)


OF_ANOTHER_PROCESS = """
import importlib, json, sys
sys.path[:0] = sys.argv[1:]
from pennympi.compile.digest import kernel_hash
kernels = {name: importlib.import_module(name).kernel for name in json.load(sys.stdin)}
print(json.dumps({name: [kernel_hash(one), kernel_hash(one, portable=True)] for name, one in kernels.items()}))
"""


def test_another_process_another_folder_and_comments_change_nothing(tmp_path):
    texts = {f"value{i}": BEGIN + KERNEL.format(*one[:2]) for i, one in enumerate(VALUES.values())}
    texts |= {f"text{i}": text for i, (text, *_) in enumerate(TEXTS.values())}
    found = []
    for number in range(2):
        folder = tmp_path / f"folder{number}"
        folder.mkdir()
        for name, text in texts.items():
            commented = f"# Of another one.\n\n{text}".replace(":\n", ":  # why\n\n") if number else text
            (folder / f"{name}.py").write_text(commented)
        command = [sys.executable, "-c", OF_ANOTHER_PROCESS, str(folder), str(ROOT)]
        ended = subprocess.run(
            command, input=json.dumps(list(texts)), env={"PYTHONHASHSEED": str(number + 1)}, cwd=tmp_path,
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
        found.append(json.loads(ended.stdout))
    kinds = dict(zip(texts, (*VALUES, *TEXTS), strict=True))
    assert [kinds[name] for name in texts if found[0][name] != found[1][name] or None in found[0][name]] == []


def test_a_file_that_is_edited_after_its_import(tmp_path):
    path = tmp_path / "edited.py"
    path.write_text("def kernel(i):\n    return 2.0 * i\n")
    old = loaded(path)
    before = keys(old.kernel)
    path.write_text("def kernel(i):\n    return 3.25 * i\n")
    new = loaded(path)
    assert kernel_hash(old.kernel) == before[0]
    assert len({*before, *keys(new.kernel), kernel_hash(old.kernel, portable=True)}) == 4


def scope_in(archive):
    loader = zipimport.zipimporter(str(archive))
    scope = {"__name__": "zipped", "__loader__": loader, "__spec__": loader.find_spec("zipped")}
    exec(loader.get_code("zipped"), scope)
    return scope


def test_a_library_in_an_archive(tmp_path):
    seen = []
    for number in ("2.0", "3.0"):
        archive = tmp_path / f"{number}.zip"
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr("zipped.py", f"def kernel(i):\n    return {number} * i\n")
        seen += keys(scope_in(archive)["kernel"])
    assert len(set(seen)) == 4


def test_the_text_of_a_function_does_not_depend_on_the_version_of_python(tmp_path):
    """The key by the text differs from that by the bytecode, and exists if the text is that of the code."""
    path = tmp_path / "known.py"
    path.write_text("def kernel(i):\n    return [i for i in range(i)]\n")
    scope = {}
    exec(path.read_text(), scope)
    kernel = loaded(path).kernel
    assert kernel_hash(kernel) == kernel_hash(scope["kernel"]) == kernel_hash(scope["kernel"], portable=True)
    assert kernel_hash(kernel, portable=True) != kernel_hash(kernel)


G = 0.25


def decay(u, *neighbours):
    return G * u


def of_host(stencil):
    march_of_stencil = specialised(march, stencil)
    return specialised(apply_once, stencil), march_of_stencil, resident_kernel(march_of_stencil)


def of_gpu(stencil):
    passes = pytest.importorskip("pennympi.stencil.on_gpu.passes", reason="numba-cuda is not installed")
    return [passes.pass_kernel(stencil, depth, "every", -1, False).kernel for depth in (1, 2)]


@pytest.mark.parametrize("n_dims", [1, 2, 3])
@pytest.mark.parametrize("kernels_of", [of_host, of_gpu])
def test_the_kernels_of_sweeps(kernels_of, n_dims, monkeypatch):
    """Each value that a formula reads gives it different kernels, which have keys."""
    found = []
    for value in (0.25, 0.125, 0.25):
        monkeypatch.setitem(globals(), "G", value)
        kernels = kernels_of(Stencil(keyed(decay), n_dims, "float32", 0, n_dims == 2))
        found.append({one for kernel in kernels for one in keys(kernel)})
    assert found[0] == found[2] and not found[0] & found[1] and None not in found[0]


def test_the_kernels_of_the_library():
    kernels = [row.kernel for table in TABLES.values() for row in table.values() if hasattr(row, "kernel")]
    assert len(kernels) > 20 and [one for one in kernels if None in keys(one)] == []
