"""The pages of docs/: all are in the site's navigation, its pictures are what makes them, and its reference names all."""

import inspect
import re
import sys
from pathlib import Path

import pytest
from mpi4py import MPI

import pennympi
from pennympi.kernels import block

if MPI.COMM_WORLD.Get_size() > 1:
    pytest.skip("one process is enough", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
SETTINGS = (ROOT / "mkdocs.yml").read_text()


@pytest.fixture
def tools(monkeypatch):
    """Lets the scripts of the documentation and of the benchmarks be imported."""
    for folder in ("tools/docs_site", "benchmarks"):
        monkeypatch.syspath_prepend(ROOT / folder)
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if str(ROOT) in str(getattr(sys.modules[name], "__file__", "")) and "." not in name:
            del sys.modules[name]


def test_every_page_is_in_the_navigation():
    named = re.findall(r"^ +- [^:]+: ([\w/-]+\.md)$", SETTINGS.split("\nnav:\n")[1], re.MULTILINE)
    there = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")}
    assert len(named) == len(set(named)) and there == {one for one in named if not one.startswith("source/")}


def test_nothing_is_fetched_when_the_site_is_built():
    assert re.search(r"^ +font: false", SETTINGS, re.MULTILINE) and "http" not in SETTINGS and "privacy" not in SETTINGS


def test_the_reference_names_all_public_names():
    pages = "\n".join(path.read_text() for path in (DOCS / "reference").glob("*.md"))
    shown = set(re.findall(r"^::: pennympi\.(\w+)$", pages, re.MULTILINE))
    assert shown == set(pennympi.__all__)
    assert "::: kernels.block" in pages and inspect.getdoc(block).startswith("The primitives")


def test_the_reference_names_all_commands():
    from pennympi.__main__ import COMMANDS

    page = (DOCS / "reference" / "commands.md").read_text()
    assert not {name for name in COMMANDS if name != "report" and f"`python -m pennympi {name}" not in page}


ATTRIBUTES = {"rank", "size"}  # of an instance


@pytest.mark.parametrize("page", sorted((DOCS / "coming-from").glob("*.md")), ids=lambda path: path.stem)
def test_the_calls_of_the_tables_are_there(page):
    """Every team.name( and word of a primitive that a table names exists."""
    named = set(re.findall(r"\bteam\.(\w+)", page.read_text()))
    assert len(named) > 8
    assert not {name for name in named - ATTRIBUTES if not hasattr(pennympi.Team, name)}
    primitives = set(re.findall(r"`(\w+)\(ctx", page.read_text()))
    assert not {name for name in primitives if not hasattr(block, name)}


def test_the_drawings_are_what_draws_them(tools):
    import drawings

    made = drawings.drawings()
    assert {path.stem for path in (DOCS / "drawings").glob("*.svg")} == set(made)
    assert not [name for name, text in made.items() if (DOCS / "drawings" / f"{name}.svg").read_text() != text]
    page = (DOCS / "algorithms.md").read_text()
    assert not [name for name in made if f"(drawings/{name}.svg)" not in page]


def test_no_labels_of_a_plot_overlap(tools):
    pytest.importorskip("matplotlib")
    import plots
    from matplotlib.text import Text

    made = plots.figures(ROOT / "benchmarks" / "results")
    assert {path.stem for path in (DOCS / "plots").glob("*.svg")} == set(made)
    for name, figure in made.items():
        figure.canvas.draw()
        shown = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
        boxes = [(text.get_text(), text.get_window_extent().padded(-1)) for text in shown]
        assert len(boxes) > 8
        assert not [(a, b) for i, (a, box) in enumerate(boxes) for b, other in boxes[:i] if box.overlaps(other)], name
        assert not [text for text, box in boxes if box.x0 < 0 or box.x1 > figure.bbox.x1], name


def test_a_docstring_becomes_a_list(tools):
    pytest.importorskip("griffe")
    from docstrings import markdown

    text = """Does ``it``.

x, out: arrays
        of one dtype
op:     a name;  root: a PE
One.  see: it
Raises A.
A __b__."""
    wanted = """Does `it`.

- `x, out`: arrays
  of one dtype
- `op`: a name
- `root`: a PE

One.

- `see`: it

Raises A.

A `__b__`."""
    assert markdown(text) == wanted


PAGE = '<html><h1 id="top">x</h1><a href="#top">y</a><a href="https://a.b/">z</a>{}</html>'


@pytest.mark.parametrize(
    "inside, problem",
    [
        ("", None),
        ('<a href="other.html#there">', None),
        ('<a href="nowhere.html">', "leads nowhere"),
        ('<a href="../outside.html">', "leads nowhere"),
        ('<a href="#nothing">', "names no anchor"),
        ('<a href="other.html#nothing">', "names no anchor"),
        ('<img src="picture.svg">', "leads nowhere"),
        ('<script src="https://cdn.example/a.js">', "loads https"),
        ('<link rel="stylesheet" href="//fonts.example/a.css">', "loads //fonts"),
    ],
)
def test_the_checker_finds_what_is_wrong(tools, tmp_path, inside, problem):
    import check

    (tmp_path / "outside.html").write_text("")
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text(PAGE.format(inside))
    (site / "other.html").write_text('<a name="there">')
    found = check.wrong(site)
    assert (not found) if problem is None else (len(found) == 1 and problem in found[0]), found


def test_the_checker_reads_style_sheets(tools, tmp_path):
    import check

    (tmp_path / "index.html").write_text("")
    (tmp_path / "a.css").write_text("@import url(https://fonts.example/css); a { background: url(data:x) }")
    assert check.wrong(tmp_path) == ["a.css: loads https://fonts.example/css"]


def test_the_site_is_built_without_a_warning(tools, tmp_path):
    pytest.importorskip("mkdocstrings")
    pytest.importorskip("material")
    import subprocess

    import check

    ended = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT, capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert not check.wrong(tmp_path)
