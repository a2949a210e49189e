"""checkpoints.py damaged FOLDER TIMES SEED, or: checkpoints.py full FOLDER, a folder on a disk without room.

A checkpoint that is damaged gives one kind of error on all PEs; one that can't be written leaves no file.
The last line is a record in JSON.
"""

import json
import random
import sys
from pathlib import Path

import numpy as np

import pennympi

SHAPE = (40, 50)


def cut(good, rng):
    return good[: rng.randrange(len(good))]


def overwritten(good, rng):
    at = rng.randrange(96)  # in the first block, which says what the file holds
    return good[:at] + rng.randbytes(8) + good[at + 8 :]


DAMAGES = {
    "cut": cut,
    "overwritten": overwritten,
    "empty": lambda good, rng: b"",
    "text": lambda good, rng: b"no checkpoint\n" * rng.randrange(1, 900),
    "none": lambda good, rng: good,
}


def outcome(call):
    """The kind of error of a call, or "" """
    try:
        call()
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        return type(error).__name__
    return ""


mode, path = sys.argv[1], Path(sys.argv[2]) / "state.h5"
with pennympi.init(heap_bytes=16 << 20) as team:
    grid = team.grid(SHAPE)
    u, right = grid.zeros("float64"), np.arange(2000.0).reshape(SHAPE)
    inside = tuple(slice(first, first + n) for first, n in zip(grid.first, grid.own, strict=True))
    wrong, times = [], 1
    if mode == "full":
        found = team.gather(outcome(lambda: grid.save(path, u=u, step=3)))
        if set(found) != {"OSError"} or list(path.parent.iterdir()):
            wrong.append(f"a full disk: {found}, and there is {list(path.parent.iterdir())}")
    else:
        times, rng = int(sys.argv[3]), random.Random(sys.argv[4])
        grid.interior(u)[...] = right[inside]
        grid.save(path, u=u, step=3)
        good = path.read_bytes()
        team.comm.Barrier()
        for _ in range(times):
            kind = rng.choice(list(DAMAGES))
            data = DAMAGES[kind](good, rng)
            if team.me == 0:
                path.write_bytes(data)
            team.comm.Barrier()
            grid.interior(u)[...] = -1
            errors = team.gather(outcome(lambda: grid.load(path, u=u)))
            same = all(team.gather(bool((grid.interior(u) == right[inside]).all())))
            if kind == "none" and not same or not (all(errors) or same):
                wrong.append(f"{kind}, {len(data)} bytes: {errors}")
    if team.me == 0:
        print("RECORD " + json.dumps({"done": times, "wrong": wrong[:3]}), flush=True)
