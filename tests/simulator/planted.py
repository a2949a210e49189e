"""Forty faults that are planted in five programs, a line of text each.

python -m simulator.planted [--seconds 10]      in tests/: what is found, and after how many seconds
"""

import argparse
import json
import linecache
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pennympi

from . import five_programs

SOURCE = Path(five_programs.__file__)
LOST_WAIT, EARLY = "lost wait", "signal before data"
REUSED, ONE_BUFFER = "reused word", "missing second buffer"
WRONG_PE, OFF_BY_ONE, NO_BARRIER = "wrong peer", "off by one", "missing barrier"
KINDS = LOST_WAIT, EARLY, REUSED, ONE_BUFFER, WRONG_PE, OFF_BY_ONE, NO_BARRIER


class Planted(NamedTuple):
    """A fault.  kind: one of KINDS;  old, new: a text of the program, and what stands in its place"""

    program: str
    kind: str
    old: str
    new: str


RING, HALO, ONE_SHOT, PIPELINE, LOOP = (one.__name__ for one in five_programs.PROGRAMS)
RING_PUT = (
    "put_signal(ctx, inbox + (half + start) * ITEM_BYTES, y + start * ITEM_BYTES, nbytes, arrived + word, k, right)"
)
HALO_PUT = "put_signal(ctx, new, new + COUNT * ITEM_BYTES, ITEM_BYTES, word, k, above)"
ONE_SHOT_PUT = "put_signal(ctx, to, x, COUNT * ITEM_BYTES, word + 8 * me, k, pe)"
RELAY_PUT = "put(ctx, room + slot * nbytes, x + k * nbytes, nbytes, me + 1)\n            fence(ctx)\n            "
LOOP_PUT = "put_signal(ctx, at, at, ITEM_BYTES, word + 8 * me, k, pe)"
LOOP_LANES = "store(x, i, load(x, i) * real(0.5))\n    sync()\n"
FAULTS = (
    Planted(RING, LOST_WAIT, "        wait(ctx, arrived + word, k, left)\n", ""),
    Planted(RING, LOST_WAIT, "            wait(ctx, free + word, k - 2, right)\n", "            pass\n"),
    Planted(RING, EARLY, RING_PUT, f"signal(ctx, arrived + word, k, right)\n        {RING_PUT.replace('put_signal', 'put').replace(', arrived + word, k', '')}"),
    Planted(RING, REUSED, "half, word = k % 2 * COUNT, 8 * (k % 2 * BLOCKS + b)", "half, word = k % 2 * COUNT, 8 * b"),
    Planted(RING, ONE_BUFFER, "half, word = k % 2 * COUNT", "half, word = 0"),
    Planted(RING, WRONG_PE, "signal(ctx, free + word, k, left)", "signal(ctx, free + word, k, right)"),
    Planted(RING, OFF_BY_ONE, "load(inbox, half + i)", "load(inbox, half + i + 1)"),
    Planted(RING, NO_BARRIER, "        sync()\n        if is_leader():\n            store(y, start", "        if is_leader():\n            store(y, start"),
    Planted(HALO, LOST_WAIT, "    wait(ctx, word + 8, k, above)\n", ""),
    Planted(HALO, LOST_WAIT, "    wait(ctx, word, k, below)\n", ""),
    Planted(HALO, EARLY, HALO_PUT, "signal(ctx, word, k, above)\n    put(ctx, new, new + COUNT * ITEM_BYTES, ITEM_BYTES, above)"),
    Planted(HALO, REUSED, "ITEM_BYTES, word + 8, k, below)", "ITEM_BYTES, word, k, below)"),
    Planted(HALO, ONE_BUFFER, "fields[(k + 1) % 2], arrived", "fields[k % 2], arrived"),
    Planted(HALO, WRONG_PE, "ITEM_BYTES, word, k, above)", "ITEM_BYTES, word, k, below)"),
    Planted(HALO, OFF_BY_ONE, "lanes(1, COUNT + 1):\n        store(new", "lanes(0, COUNT + 1):\n        store(new"),
    Planted(HALO, NO_BARRIER, "load(old, i + 1))\n    sync()\n", "load(old, i + 1))\n"),
    Planted(ONE_SHOT, LOST_WAIT, "            wait(ctx, word + 8 * pe, k, pe)\n            for i in lanes(0, COUNT)", "            for i in lanes(0, COUNT)"),
    Planted(ONE_SHOT, LOST_WAIT, "wait(ctx, word + 8 * pe, k, pe)\n            for", "wait(ctx, word + 8 * pe, k - 1, pe)\n            for"),
    Planted(ONE_SHOT, EARLY, ONE_SHOT_PUT, "signal(ctx, word + 8 * me, k, pe)\n        put(ctx, to, x, COUNT * ITEM_BYTES, pe)"),
    Planted(ONE_SHOT, REUSED, "to, x, COUNT * ITEM_BYTES, word + 8 * me, k, pe)", "to, x, COUNT * ITEM_BYTES, word, k, pe)"),
    Planted(ONE_SHOT, ONE_BUFFER, "half, word = k % 2 * n_pes", "half, word = 0"),
    Planted(ONE_SHOT, WRONG_PE, "to = inbox + (half + me) * COUNT", "to = inbox + (half + pe) * COUNT"),
    Planted(ONE_SHOT, OFF_BY_ONE, "load(inbox, (half + pe) * COUNT + i)", "load(inbox, (half + pe) * COUNT + i + 1)"),
    Planted(ONE_SHOT, EARLY, "        team.synchronize()\n        found.append(float(y[0]))\n        x[:] = x + 1\n", "        found.append(float(y[0]))\n        with team.stream():\n            x[:] = x + 1\n"),
    Planted(PIPELINE, LOST_WAIT, "            wait(ctx, full + 8 * slot, lap, me - 1)\n", ""),
    Planted(PIPELINE, LOST_WAIT, "                wait(ctx, empty + 8 * slot, lap - 1, me + 1)\n", "                pass\n"),
    Planted(PIPELINE, EARLY, RELAY_PUT + "signal(ctx, full + 8 * slot, lap, me + 1)", f"signal(ctx, full + 8 * slot, lap, me + 1)\n            {RELAY_PUT.rstrip()}"),
    Planted(PIPELINE, REUSED, "wait(ctx, full + 8 * slot, lap, me - 1)", "wait(ctx, full + 8 * slot, lap - 1, me - 1)"),
    Planted(PIPELINE, ONE_BUFFER, "put(ctx, room + slot * nbytes", "put(ctx, room + 0 * nbytes"),
    Planted(PIPELINE, WRONG_PE, "signal(ctx, empty + 8 * slot, lap, me - 1)", "signal(ctx, empty + 8 * slot, lap, me)"),
    Planted(PIPELINE, OFF_BY_ONE, "for k in range(PIECES):\n        slot", "for k in range(PIECES + 1):\n        slot"),
    Planted(PIPELINE, NO_BARRIER, "            sync()\n            if is_leader():\n                store(x, k", "            if is_leader():\n                store(x, k"),
    Planted(LOOP, LOST_WAIT, "            wait(ctx, word + 8 * pe, k, pe)\n    if is_leader", "            pass\n    if is_leader"),
    Planted(LOOP, LOST_WAIT, "        push.wait_event(compute.record())\n", ""),
    Planted(LOOP, EARLY, LOOP_PUT, "signal(ctx, word + 8 * me, k, pe)\n        put(ctx, at, at, ITEM_BYTES, pe)"),
    Planted(LOOP, REUSED, "at, at, ITEM_BYTES, word + 8 * me, k, pe)", "at, at, ITEM_BYTES, word, k, pe)"),
    Planted(LOOP, ONE_BUFFER, "half = k % 2 * 8", "half = 0"),
    Planted(LOOP, WRONG_PE, "at, at, ITEM_BYTES, word + 8 * me, k, pe)", "at, at, ITEM_BYTES, word + 8 * me, k, me)"),
    Planted(LOOP, OFF_BY_ONE, "for i in range(COUNT):", "for i in range(COUNT + 1):"),
    Planted(LOOP, NO_BARRIER, LOOP_LANES, LOOP_LANES.replace("    sync()\n", "")),
)  # fmt: skip


def with_fault(fault: Planted) -> Callable[[Any], Any]:
    """The program with the fault, in a file of its own name, so that its lines can be shown."""
    text = SOURCE.read_text()
    assert text.count(fault.old) == 1, fault
    changed = text.replace(fault.old, fault.new, 1)
    name = f"{fault.program}, {fault.kind}, {FAULTS.index(fault)}.py"
    linecache.cache[name] = len(changed), None, changed.splitlines(True), name
    scope: dict[str, Any] = {"__name__": "planted"}
    exec(compile(changed, name, "exec"), scope)
    program: Callable[[Any], Any] = scope[fault.program]
    return program


def found(fault: Planted, seconds: float, n_pes: int = 4) -> tuple[str, float]:
    """(what was raised, "" if nothing was; seconds until then)."""
    program, start_s = with_fault(fault), time.monotonic()
    try:
        pennympi.simulate(program, n_pes, seconds, seed="7")
    except Exception as error:  # of any type
        return f"{type(error).__name__}: {error}", time.monotonic() - start_s
    return "", time.monotonic() - start_s


def rows(seconds: float) -> Iterator[dict[str, Any]]:
    """A row for each fault, then one for each program without one."""
    for fault in FAULTS:
        what, taken_s = found(fault, seconds)
        yield {"program": fault.program, "kind": fault.kind, "found": what, "seconds": round(taken_s, 3)}
    for program in five_programs.PROGRAMS:
        schedules = pennympi.simulate(program, 4, seconds)
        yield {"program": program.__name__, "kind": "none", "found": "", "schedules": schedules}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=10.0)
    for row in rows(parser.parse_args().seconds):
        print(json.dumps(row), flush=True)
