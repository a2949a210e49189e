"""The documents name what is there: rooms, files, rows and the words of the glossary."""

import re
from pathlib import Path

import pytest
import rooms

from pennympi.collectives.allreduce import AllReduce
from pennympi.collectives.calls import ALL
from pennympi.kernels.allreduce import PLANNED
from pennympi.kernels.exchange import TABLE as FORMS

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [
    ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "kernels/README.md", "examples/README.md")
]
DOCUMENTS += sorted((ROOT / "docs").rglob("*.md"))
ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text()
MOST_LINES, MOST_COLUMNS = 150, 160
SOURCES = ("kernels", "pennympi", "apps", "tests", "tools", "benchmarks", "docs", "jobscripts", "examples", "packaging")
MADE = ("build/", "demo/", "site/")  # folders that commands make
PATH = re.compile(r"(\.?\w[\w.-]*/)*(\w[\w.-]*\.(py|md|toml|json|sh|sbatch|pbs)|\w[\w.-]*/)")


def tracked():
    """All files and folders of the checkout, as paths from its root; folders end with a slash."""
    found = {path.name for path in ROOT.iterdir() if path.is_file()}
    for name in SOURCES:
        for path in ((ROOT / name), *(ROOT / name).rglob("*")):
            inside = path.relative_to(ROOT)
            if "__pycache__" not in inside.parts:
                found.add(f"{inside}/" if path.is_dir() else str(inside))
    return found


THERE = tracked()


def name_of(path):
    return str(path.relative_to(ROOT))


def prose_of(path):
    """A document without its blocks of code."""
    return re.sub(r"^```.*?^```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)


def rooms_of(folder):
    """The packages right below a folder, as paths from the root."""
    return sorted(f"{folder}/{path.parent.name}/" for path in (ROOT / folder).glob("*/__init__.py"))


def rows_of(heading):
    """The cells of each row of the table below a heading of ARCHITECTURE.md, without the table's head."""
    table = ARCHITECTURE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines() if line[:1] == "|"][2:]


def test_the_architecture_is_short():
    lines = ARCHITECTURE.splitlines()
    assert len(lines) <= MOST_LINES
    assert not [line for line in lines if len(line) > MOST_COLUMNS]


def test_every_room_is_named():
    named = [one for cells in rows_of("Rooms") for one in re.findall(r"`([^`]+)`", cells[0])]
    there = [room for folder in ("pennympi", "apps/jacobi") for room in rooms_of(folder) if room != "pennympi/kernels/"]
    assert len(there) > 15
    assert not set(there) - set(named)
    assert not {room for room in named if not (ROOT / room).is_dir()}


def test_rooms_import_only_rooms_above_them():
    order = [one for cells in rows_of("Rooms") for one in re.findall(r"`([^`]+)`", cells[0])]
    for folder in ("pennympi", "apps/jacobi"):
        names = [room.split("/")[-2] for room in order if room in rooms_of(folder)]
        graph = rooms.arrows(rooms.read(ROOT, folder), rooms.LOADED, rooms.CALLED, rooms.CHECKED)
        assert len(names) > 5
        for name in names:
            for other in set(graph[name]) & set(names):
                assert names.index(other) < names.index(name), graph[name][other]


def test_the_glossary_is_alphabetical():
    words = [re.sub(r"[`_*]", "", cells[0]).lower() for cells in rows_of("Glossary")]
    assert len(words) > 50 and words == sorted(words)


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_links_lead_somewhere(path):
    headings = {}
    for target in re.findall(r"\]\(([^)\s]+)\)", prose_of(path)):
        file, _, anchor = target.partition("#")
        if not re.match(r"\w+://", target):
            to = (path.parent / file).resolve() if file else path
            assert to.exists(), target
            if anchor:
                lines = re.findall(r"^#+ (.*)$", headings.setdefault(to, to.read_text()), re.MULTILINE)
                assert anchor in [re.sub(r"[^\w -]", "", line.lower()).replace(" ", "-") for line in lines], target


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_paths_are_there(path):
    """A back-quoted path is given from the root, from the document's folder, or by its end, as in `cuda/heap.py`."""
    paths = {
        one for one in re.findall(r"`([^`\n]+)`", prose_of(path)) if PATH.fullmatch(one) and not one.startswith(MADE)
    }
    missing = {one for one in paths if not any(other == one or other.endswith(f"/{one}") for other in THERE)}
    assert not missing


def test_every_algorithm_is_drawn():
    drawn = (ROOT / "kernels" / "README.md").read_text()
    sections = {part.split("\n")[0]: part for part in re.split(r"^## ", drawn, flags=re.MULTILINE)[1:]}
    for title, table in (
        ("AllReduce", {**AllReduce.table, **PLANNED}),
        ("exchange", FORMS),
        *((one.name.title().replace("_To_", "-to-").replace("_", ""), one.table) for one in ALL),
    ):
        section = next(part for name, part in sections.items() if name.lower() == title.lower())
        assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == list(table), title
