"""The tables of docs/guides/hosts.md, from the results of benchmarks/hosts.py."""

import json

from pennympi.bench.sizes import show


def markdown(path):
    """A caption and two tables for a result: AllReduce, and put_signal."""
    data = json.loads(path.read_text())
    hosts = " + ".join(map(str, data["nodes"]))
    lines = ["| AllReduce | MPI, us | `auto` runs | us | times faster | fastest | model / measured |", "|" + "---|" * 7]
    for row in data["allreduce"]:
        auto, us = row["auto"], row["us"]
        best = min(us, key=us.get)
        cells = [show(row["nbytes"]), f"{row['mpi']:.0f}", auto, f"{us[auto]:.0f}", f"{row['mpi'] / us[auto]:.2f}"]
        cells += [f"{best} {us[best]:.0f}", f"{row['modelled'][auto] / us[auto]:.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "| put_signal, half of a ping-pong | Send, Recv, us | us | ratio |", "|---|---|---|---|"]
    for row in data["put_signal"]:
        cells = [show(row["nbytes"]), f"{row['mpi']:.1f}", f"{row['us']:.1f}", f"{row['us'] / row['mpi']:.2f}"]
        lines.append("| " + " | ".join(cells) + " |")
    where = f"{hosts} PEs on {len(data['nodes'])} hosts, links {data['link']}, {data['mpi']}"
    return f"Plans, median, slowest PE, {where} ([raw](../../benchmarks/results/{path.name})):\n\n" + "\n".join(lines)


def predicted(path):
    """A caption and a table for a result of benchmarks/hosts.py with sizes: times, and predicted / measured."""
    data = json.loads(path.read_text())
    rows = data["allreduce"]
    names = sorted({name for row in rows for name in row["us"]}, key=lambda name: rows[0]["us"].get(name, float("inf")))
    lines = ["| AllReduce | MPI, ms | " + " | ".join(names) + " |", "|" + "---|" * (2 + len(names))]
    for row in rows:
        us, modelled = row["us"], row["modelled"]
        cells = [f"{us[name] / 1e3:.1f}, {modelled[name] / us[name]:.2f}" if name in us else "" for name in names]
        lines.append("| " + " | ".join([show(row["nbytes"]), f"{row['mpi'] / 1e3:.1f}", *cells]) + " |")
    hosts = f"{len(data['nodes'])} hosts of {data['nodes'][0]} PEs, links {data['link']}, {data['mpi']}"
    return f"ms, predicted / measured, {hosts} ([raw](../../benchmarks/results/{path.name})):\n\n" + "\n".join(lines)
