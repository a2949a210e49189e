"""Jobs of the soak, and what is wrong with their ends."""

import json
import os
import re
import sys

from launch import ROOT, launch, mpirun

RANK = "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-$PMIX_RANK}}"
PROGRAMS, SUPPORT = ROOT / "tests" / "soak" / "programs", ROOT / "tests" / "support"


def job(n, program, *args, limit_s=100, per_node=0, around=(), **env):
    """Run a program of tests/ on n PEs.

    per_node: so many PEs act as a node, 0: all;  around: what stands before mpirun
    """
    node = ["sh", "-c", f'PENNYMPI_NODE=$(({RANK} / {per_node})) exec "$@"', "sh"] if per_node else []
    command = [*around, mpirun(), "-np", str(n), *node, sys.executable]
    path = os.pathsep.join([str(ROOT), str(SUPPORT)])
    variables = {"PYTHONPATH": path, "PENNYMPI_BACKEND": "host", **env}
    return launch(n, *map(str, (program, *args)), limit_s=limit_s, env=variables, command=command)


def went_wrong(ended):
    """Why a job that should have succeeded did not; "" if it did."""
    if ended.rc != 0:
        return f"{'hangs' if ended.rc is None else f'status {ended.rc}'}: {last_words(ended)}"
    return "".join(f"left: {what}" for what in (ended.left_alive, ended.left_in_shm) if what)


def last_words(ended):
    """The line of an error, else the last line."""
    lines = [line.strip() for line in ended.output.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"\w*(Error|Timeout|GaveUp|Exhausted|Unsupported)\b", line)]
    return (telling or lines or ["no output"])[-1][:300]


def record_of(ended):
    """(how often a thing was tried, what went wrong) by the record that a program prints."""
    found = re.search(r"^RECORD (\{.*\})$", ended.output, re.MULTILINE)
    record = json.loads(found[1]) if found else {"done": 1, "wrong": ["no record"]}
    return record["done"], went_wrong(ended) or "; ".join(record["wrong"])
