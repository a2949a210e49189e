"""Tables in Markdown, and the captions that say of what."""

import re

LIBRARIES = ("NCCL", "NVSHMEM", "CUDA driver", "numba", "numba-cuda", "mpi")
TOP = "TOP/"  # of a link: the way from the document to the root, see ``filled``


def table(head, lines):
    """A table in Markdown.  head: texts;  lines: of cells"""
    first, *others = ["| " + " | ".join(map(str, one)) + " |" for one in (head, *lines)]
    return "\n".join([first, "|" + "---|" * len(head), *others])


def link(text, path):
    """A link to a raw result."""
    return f"[{text}]({TOP}benchmarks/results/{path.name})"


def source(path):
    """The end of a caption: the raw result, and what measures it."""
    command = re.split(r"-\d+x", path.name)[0]
    return f"{link('raw', path)}, `benchmarks/measure.py {command}`"


def machine(facts):
    """The PEs and their device, and the libraries, in words."""
    named = [f"{key} {facts[key]}".removeprefix("mpi ") for key in LIBRARIES if key in facts]
    shares = re.search(r", (?!1 )\d+ of them on this device", facts.get("first team", ""))
    where = f"{facts['PEs']} {'PEs that share 1 ' if shares else ''}x {facts['device']}"
    return f"{where}, {', '.join([*named, facts.get('date', '')]).rstrip(', ')}"


def short(us):
    """A time as tables of solvers have it."""
    return "" if us is None else f"{us:.1f}" if us < 100 else f"{us:.0f}"
