"""The results of benchmarks/jacobi.py: the file, and the numbers that are computed from the times.

{"version": 2, "iterations": sweeps of every run,
 "facts": versions and date,  "jobs": {PEs: device, links, topology and bandwidth of a copy of that job},
 "rows": [{variant, pes, n, nccheck, seconds, runs, field, norms, wrong, near, glups, share_of_copy,
           efficiency, efficiency_alike}],
 "nvidia": [{variant, pes, n, nccheck, seconds, runs}],
 "norm_cost": [{variant, pes, n, percent, allreduce_percent}],
 "refused": {PEs: {variant: why it cannot run}},  "failed": {PEs: {variant: how it ended}},
 "left_out": what there was no time for,  "wrong": [results that must not differ],  "restart": see restart_check.py}

A variant's name is unique among ours and among NVIDIA's.  Times are in seconds, shares in per cent.
"""

import json
import os

VERSION = 2


def empty(iterations):
    """Results without any rows."""
    return {
        "version": VERSION, "iterations": iterations, "facts": {}, "jobs": {}, "rows": [], "nvidia": [],
        "norm_cost": [], "refused": {}, "failed": {}, "left_out": [], "wrong": [], "restart": None,
    }  # fmt: skip


def read(path):
    """The results in a file.  Raises ValueError if it has another form."""
    data = json.loads(path.read_text())
    if not isinstance(data, dict) or data.get("version") != VERSION or "nvidia" not in data:
        raise ValueError(f"{path} is not a result of benchmarks/jacobi.py, version {VERSION}: measure again")
    return data


def write(results, path):
    """Compute what follows from the times, and write the file completely, or not at all."""
    derive(results)
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.write_text(json.dumps(results, indent=1) + "\n")
    os.replace(part, path)


def add(results, other):
    """Add the results of another file for numbers of PEs without rows here.  Raises ValueError."""
    if other["iterations"] != results["iterations"]:
        raise ValueError(f"runs of {other['iterations']} sweeps and of {results['iterations']} cannot be compared")
    mine = {row["pes"] for row in results["rows"]}
    for word in ("rows", "nvidia"):
        results[word] += [row for row in other[word] if row["pes"] not in mine]
    for word in ("jobs", "refused", "failed"):
        results[word] |= {pes: found for pes, found in other[word].items() if int(pes) not in mine}
    results["restart"] = results["restart"] or other["restart"]


def case_of(row):
    """(n, nccheck) of a row."""
    return row["n"], row["nccheck"]


def alike(row):
    """The kind of a row: blocked runs are compared with one another, and so are all others."""
    return row["variant"] == "blocked"


def select(rows, **wanted):
    """The rows with these values.  blocked: True or False for rows of that kind only"""
    kind = wanted.pop("blocked", None)
    return [
        row
        for row in rows
        if all(row[key] == value for key, value in wanted.items()) and kind in (None, row["variant"] == "blocked")
    ]


def best(rows):
    """The fastest row, or None."""
    return min(rows, key=lambda row: row["seconds"], default=None)


def derive(results):
    """Fill in the numbers that follow from the times."""
    rows, iterations = results["rows"], results["iterations"]
    for row in rows:
        updates = row["n"] * row["n"] * iterations / row["seconds"]
        row["glups"] = updates / 1e9
        copy = results["jobs"].get(str(row["pes"]), {}).get("copy_GBps")
        row["share_of_copy"] = (
            100 * 8 * updates / 1e9 / copy if copy else None
        )  # each point is a float32, read and written once
        alone = select(rows, pes=1, n=row["n"], nccheck=row["nccheck"])
        for name, others in (
            ("efficiency", alone),
            ("efficiency_alike", [one for one in alone if alike(one) == alike(row)]),
        ):
            row[name] = 100 * best(others)["seconds"] / row["pes"] / row["seconds"] if others else None
    results["norm_cost"] = norm_cost(rows, iterations)
    results["wrong"] = wrong(rows)


def norm_cost(rows, iterations):
    """What a norm every sweep costs, compared with one norm in the whole run, in per cent of the run with norms.

    percent: the whole cost;  allreduce_percent: the cost beyond that on one PE, which needs no AllReduce
    """
    times = {(row["variant"], row["pes"], *case_of(row)): row["seconds"] for row in rows}
    extra = {
        (variant, pes, n): (seconds - times[variant, pes, n, iterations], seconds)
        for (variant, pes, n, nccheck), seconds in times.items()
        if nccheck == 1 and (variant, pes, n, iterations) in times
    }
    found = []
    for (variant, pes, n), (cost, seconds) in extra.items():
        alone = extra.get((variant, 1, n))
        beyond = 100 * (cost - alone[0] / pes) / seconds if alone and pes > 1 else None
        one = {"variant": variant, "pes": pes, "n": n, "percent": 100 * cost / seconds, "allreduce_percent": beyond}
        found.append(one)
    return found


def wrong(rows):
    """Points that differ from NumPy's, and runs of one problem that end with different bits."""
    found = [f"{row['variant']} on {row['pes']} PEs: {row['wrong']} points differ" for row in rows if row["wrong"]]
    found += [f"{row['variant']} on {row['pes']} PEs: norms are not near" for row in rows if not row["near"]]
    for kind, key in (("field", lambda row: row["n"]), ("norms", case_of)):
        groups = {}
        for row in rows:
            groups.setdefault(key(row), set()).add(row[kind])
        found += [f"{kind} of {name} differ between runs" for name, bits in groups.items() if len(bits) > 1]
    return sorted(set(found))
