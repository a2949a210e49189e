"""Forty faults that are planted in five programs, a line of text each.

python -m simulator.planted --output JSON      in tests/: which faults are found, and after how many seconds;
                                               the same for each statement that orders or sends something, removed
"""

import argparse
import ast
import json
import linecache
import platform
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pennympi
from pennympi.host.backend import processor

from . import five_programs

SOURCE = Path(five_programs.__file__)
LOST_WAIT, EARLY = "lost wait", "signal before data"
REUSED, ONE_BUFFER = "reused word", "missing second buffer"
WRONG_PE, OFF_BY_ONE, NO_BARRIER = "wrong peer", "off by one", "missing barrier"
KINDS = LOST_WAIT, EARLY, REUSED, ONE_BUFFER, WRONG_PE, OFF_BY_ONE, NO_BARRIER


class Planted(NamedTuple):
    """A fault.  kind: one of KINDS;  old, new: a text of the program, and its replacement"""

    program: str
    kind: str
    old: str
    new: str


NAMES = RING, HALO, ONE_SHOT, PIPELINE, LOOP = [one.__name__ for one in five_programs.PROGRAMS]
ORDERS = (
    "wait sync fence signal put put_signal barrier synchronize wait_signal wait_event".split()
)  # calls that ``without_a_statement`` removes
SEND_Y = "put_signal(ctx, Message(to, y + start * ITEM_BYTES, nbytes, right), arrived + word, k)"
SEND_END = "put_signal(ctx, Message(new, new + COUNT * ITEM_BYTES, ITEM_BYTES, above), word, k)"
SEND_X = "put_signal(ctx, Message(to, x, COUNT * ITEM_BYTES, pe), word + 8 * me, k)"
SEND_SUM = "put_signal(ctx, Message(at, at, ITEM_BYTES, pe), word + 8 * me, k)"
SEND_PIECE = """            put(ctx, room + slot * nbytes, x + k * nbytes, nbytes, me + 1)
            fence(ctx)
"""
TELL_PIECE = "            signal(ctx, full + 8 * slot, lap, me + 1)\n"
END_OF_ROUND = """        team.synchronize()
        found.append(float(y[0]))
        x[:] = x + 1
"""
ON_ANOTHER_STREAM = """        found.append(float(y[0]))
        with team.stream():
            x[:] = x + 1
"""
FAULTS = (
    Planted(RING, LOST_WAIT, "        wait(ctx, arrived + word, k, left)\n", ""),
    Planted(RING, LOST_WAIT, "wait(ctx, free + word, k - 2, right)", "pass"),
    Planted(
        RING,
        EARLY,
        SEND_Y,
        "signal(ctx, arrived + word, k, right)\n        put(ctx, to, y + start * ITEM_BYTES, nbytes, right)",
    ),
    Planted(RING, REUSED, "word = k % 2 * COUNT, 8 * (k % 2 * BLOCKS + b)", "word = k % 2 * COUNT, 8 * b"),
    Planted(RING, ONE_BUFFER, "half, word = k % 2 * COUNT", "half, word = 0"),
    Planted(RING, WRONG_PE, "signal(ctx, free + word, k, left)", "signal(ctx, free + word, k, right)"),
    Planted(RING, OFF_BY_ONE, "load(inbox, half + i)", "load(inbox, half + i + 1)"),
    Planted(
        RING,
        NO_BARRIER,
        "        sync()\n        if is_leader():\n            store(y",
        "        if is_leader():\n            store(y",
    ),
    Planted(HALO, LOST_WAIT, "    wait(ctx, word + 8, k, above)\n", ""),
    Planted(HALO, LOST_WAIT, "    wait(ctx, word, k, below)\n", ""),
    Planted(
        HALO,
        EARLY,
        SEND_END,
        "signal(ctx, word, k, above)\n    put(ctx, new, new + COUNT * ITEM_BYTES, ITEM_BYTES, above)",
    ),
    Planted(HALO, REUSED, "ITEM_BYTES, below), word + 8, k)", "ITEM_BYTES, below), word, k)"),
    Planted(HALO, ONE_BUFFER, "fields[(k + 1) % 2], arrived", "fields[k % 2], arrived"),
    Planted(HALO, WRONG_PE, "ITEM_BYTES, above), word, k)", "ITEM_BYTES, below), word, k)"),
    Planted(HALO, OFF_BY_ONE, "lanes(1, COUNT + 1)", "lanes(0, COUNT + 1)"),
    Planted(HALO, NO_BARRIER, "load(old, i + 1))\n    sync()\n", "load(old, i + 1))\n"),
    Planted(ONE_SHOT, LOST_WAIT, "wait(ctx, word + 8 * pe, k, pe)\n            for", "for"),
    Planted(
        ONE_SHOT,
        LOST_WAIT,
        "wait(ctx, word + 8 * pe, k, pe)\n            for",
        "wait(ctx, word + 8 * pe, k - 1, pe)\n            for",
    ),
    Planted(
        ONE_SHOT, EARLY, SEND_X, "signal(ctx, word + 8 * me, k, pe)\n        put(ctx, to, x, COUNT * ITEM_BYTES, pe)"
    ),
    Planted(ONE_SHOT, EARLY, END_OF_ROUND, ON_ANOTHER_STREAM),
    Planted(ONE_SHOT, REUSED, SEND_X, SEND_X.replace("word + 8 * me", "word")),
    Planted(ONE_SHOT, ONE_BUFFER, "half, word = k % 2 * n_pes", "half, word = 0"),
    Planted(ONE_SHOT, WRONG_PE, "to = inbox + (half + me) * COUNT", "to = inbox + (half + pe) * COUNT"),
    Planted(ONE_SHOT, OFF_BY_ONE, "load(inbox, (half + pe) * COUNT + i)", "load(inbox, (half + pe) * COUNT + i + 1)"),
    Planted(PIPELINE, LOST_WAIT, "            wait(ctx, full + 8 * slot, lap, me - 1)\n", ""),
    Planted(PIPELINE, LOST_WAIT, "wait(ctx, empty + 8 * slot, lap - 1, me + 1)", "pass"),
    Planted(PIPELINE, EARLY, SEND_PIECE + TELL_PIECE, TELL_PIECE + SEND_PIECE),
    Planted(PIPELINE, REUSED, "wait(ctx, full + 8 * slot, lap, me - 1)", "wait(ctx, full + 8 * slot, lap - 1, me - 1)"),
    Planted(PIPELINE, ONE_BUFFER, "put(ctx, room + slot * nbytes", "put(ctx, room + 0 * nbytes"),
    Planted(PIPELINE, WRONG_PE, "signal(ctx, empty + 8 * slot, lap, me - 1)", "signal(ctx, empty + 8 * slot, lap, me)"),
    Planted(PIPELINE, OFF_BY_ONE, "for k in range(PIECES):", "for k in range(PIECES + 1):"),
    Planted(
        PIPELINE,
        NO_BARRIER,
        "            sync()\n            if is_leader():\n                store(x",
        "            if is_leader():\n                store(x",
    ),
    Planted(LOOP, LOST_WAIT, "wait(ctx, word + 8 * pe, k, pe)\n    if", "pass\n    if"),
    Planted(LOOP, LOST_WAIT, "        push.wait_event(compute.record())\n", ""),
    Planted(LOOP, EARLY, SEND_SUM, "signal(ctx, word + 8 * me, k, pe)\n        put(ctx, at, at, ITEM_BYTES, pe)"),
    Planted(LOOP, REUSED, SEND_SUM, SEND_SUM.replace("word + 8 * me", "word")),
    Planted(LOOP, ONE_BUFFER, "half = k % 2 * 8", "half = 0"),
    Planted(LOOP, WRONG_PE, SEND_SUM, SEND_SUM.replace("pe)", "me)")),
    Planted(LOOP, OFF_BY_ONE, "for i in range(COUNT):", "for i in range(COUNT + 1):"),
    Planted(LOOP, NO_BARRIER, "real(0.5))\n    sync()\n", "real(0.5))\n"),
)


def with_fault(fault: Planted) -> Callable[[Any], Any]:
    text = SOURCE.read_text()
    assert text.count(fault.old) == 1, fault
    return program_of(fault.program, f"{fault.kind}, {FAULTS.index(fault)}", text.replace(fault.old, fault.new))


def program_of(program: str, what: str, text: str) -> Callable[[Any], Any]:
    """A program from a changed text, in a file of its own name, so that errors can show its lines."""
    name = f"{program}, {what}.py"
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    scope: dict[str, Any] = {"__name__": "planted"}
    exec(compile(text, name, "exec"), scope)
    function: Callable[[Any], Any] = scope[program]
    return function


def without_a_statement() -> Iterator[tuple[str, str, Callable[[Any], Any]]]:
    """(program, statement, the program without it) for each call that orders or sends something."""
    text, owner = SOURCE.read_text(), ""
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    for function in reversed(functions):  # kernels come before their program
        owner = function.name if function.name in NAMES else owner
        for node in ast.walk(function):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                called = node.value.func
                name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
                if name in ORDERS:
                    lines = text.splitlines(True)
                    lines[node.lineno - 1] = " " * node.col_offset + "pass\n"
                    lines[node.lineno : node.end_lineno] = []
                    statement = ast.unparse(node)
                    yield owner, statement, program_of(owner, f"without {name} of line {node.lineno}", "".join(lines))


def error_of(program: Callable[[Any], Any], seconds: float, n_pes: int = 4) -> tuple[str, float]:
    """(the error's text, "" without an error; seconds until then)."""
    start_s = time.monotonic()
    try:
        pennympi.simulate(program, n_pes, seconds, seed="7")
    except Exception as error:  # kernels raise many types
        return f"{type(error).__name__}: {error}", time.monotonic() - start_s
    return "", time.monotonic() - start_s


def rows(seconds: float) -> Iterator[dict[str, Any]]:
    """A row for each fault, for each statement that is removed, and for each unchanged program."""
    for fault in FAULTS:
        what, taken_s = error_of(with_fault(fault), seconds)
        yield {"program": fault.program, "kind": fault.kind, "found": what[:60], "seconds": round(taken_s, 3)}
    for name, statement, program in without_a_statement():
        what, taken_s = error_of(program, seconds)
        yield {"program": name, "removed": statement, "found": what[:60], "seconds": round(taken_s, 3)}
    for right in five_programs.PROGRAMS:
        schedules = pennympi.simulate(right, 4, 3 * seconds)
        yield {"program": right.__name__, "schedules": schedules, "seconds": 3 * seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--output", required=True, metavar="JSON")
    given = parser.parse_args()
    facts = {"device": processor(), "Python": platform.python_version(), "date": time.strftime("%Y-%m-%d")}
    lines = []
    for row in rows(given.seconds):
        lines.append(json.dumps(row))
        print(lines[-1], flush=True)
    head = json.dumps({"facts": facts}, indent=1)[:-2]
    Path(given.output).write_text(head + ',\n "rows": [\n  ' + ",\n  ".join(lines) + "\n ]\n}\n")


if __name__ == "__main__":
    main()
