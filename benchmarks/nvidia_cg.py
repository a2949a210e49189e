"""NVIDIA's conjugate gradients on two GPUs, beside the results of benchmarks/grids.py:

    python3 benchmarks/nvidia_cg.py FOLDER benchmarks/results/grids-2xH200.json

FOLDER has cg_double and cg_float: conjugateGradientMultiDeviceCG of github.com/NVIDIA/cuda-samples, changed to solve 7
points of a cube for a fixed number of iterations, n^3 as its first argument, several times, and to print
    cg, float or double, n, iterations, us an iteration (median), norm of the residual by recurrence, and computed anew
It is one process whose one kernel a GPU iterates by itself, over CSR in managed memory; float as NVIDIA wrote it.
"""

import json
import math
import sys
from pathlib import Path

from launching import run

from pennympi.files import write_whole

SIZES, ITERATIONS, RUNS, LIMIT_S = (64, 128, 256), 200, 3, 15.0
DIFFERENCE = {"double": 1e-9, "float": 1e-2}  # of the two norms at most, over the norm of the right-hand side


def read(text, n):
    """(us of an iteration, norm of the residual).  Raises ValueError if there is no such line, or the norms differ."""
    for line in reversed(text.splitlines()):
        fields = [field.strip() for field in line.split(",")]
        if len(fields) == 7 and fields[0] == "cg" and fields[2] == str(n):
            us, found, anew = map(float, fields[4:])
            if not abs(found - anew) <= DIFFERENCE[fields[1]] * math.sqrt(n**3):
                raise ValueError(f"its residual is {anew}, and it believes {found}")
            return us, anew
    raise ValueError(" / ".join(text.strip().splitlines()[-3:])[-300:] or "it printed nothing")


def rows(folder):
    """A row for each size and type; "refused" says why there is no time."""
    for n in SIZES:
        for kind in DIFFERENCE:
            row = {"shape": [n] * 3, "variant": f"NVIDIA's sample, {kind}", "GPUs": 2}
            status, text = run(
                [str(Path(folder).resolve() / f"cg_{kind}"), *map(str, (n, ITERATIONS, RUNS))], LIMIT_S, True
            )
            try:
                if status is None:
                    raise ValueError(f"took more than {LIMIT_S:.0f} s")
                row["us"], row["residual"] = read(text, n)
            except ValueError as error:
                row["refused"] = str(error)
            print(json.dumps(row), flush=True)
            yield row


if __name__ == "__main__":
    folder, path = sys.argv[1:]
    found = list(rows(folder))
    whole = json.loads(Path(path).read_text())
    whole["2"]["parts"]["nvidia_cg"] = {"rows": found, "left_out": []}
    write_whole(Path(path), json.dumps(whole, indent=1) + "\n")
