"""The cost of a change: `python -m pennympi bench` of two checkouts, in turn.

    python benchmarks/before_after.py OLD_CHECKOUT --output cost.json                   on CPUs, 2 ranks
    python3 benchmarks/before_after.py OLD_CHECKOUT --cases allreduce --words "--plan --symmetric -e 64M"

A job measures a collective in a checkout: calls, then plans if the collective has plans.  The checkouts take turns,
--turns times each, and the order of the two alternates.  A time is the slowest PE's median of many bursts.  The fastest
job of a checkout counts, since other programs can only slow a job down.  The ratio is after / before.  Every result is
checked.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from itertools import product
from pathlib import Path

import rows
from measure import ROOT, add_options, python, run

CASES = "allreduce,all_gather,reduce_scatter,broadcast,reduce,all_to_all,all_gatherv,exchange,put"
SIZES = "8,64,512,4K,32K,256K,1M"
LIMIT_S = 150  # longest time of a job
WITHOUT_PLANS = ("exchange", "put")


def job(args, tree, case, words):
    """{name of a measurement: us} of this library in a job.  Raises RuntimeError with the output of a job that fails."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        place = "in" if case == "broadcast" else "out"
        line = ["-m", "pennympi", "bench", case, "--sizes", args.sizes, "--place", place, *words, "--output", path]
        status, text = run(python(args.launcher, args.ranks, *line), LIMIT_S, root=tree)
        if status != 0:
            raise RuntimeError(f"{case} in {tree}, status {status}: {text.strip()[-1500:]}")
        data = json.loads(path.read_text())
    plan = ", plan" if "--plan" in words else ""
    times_us = {f"{case}, {row['size_bytes']} B{plan}": row["median_us"] for row in data["rows"]}
    return times_us | {f"{case}, host time{plan}": us for name, us in data["host_us"].items() if name == "pennympi"}


def commit_of(tree):
    """The short hash of a checkout's commit."""
    answer = subprocess.run(["git", "-C", tree, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return answer.stdout.strip() or "unknown"


def compare(args, trees):
    """Yield a row for each collective and size, after all turns: what, before_us, after_us, ratio."""
    least = defaultdict(dict)
    for turn, case in product(range(args.turns), args.cases.split(",")):
        kinds = [args.words.split()] if args.words else [[]] if case in WITHOUT_PLANS else [[], ["--plan"]]
        for words, label in product(kinds, sorted(trees, reverse=turn % 2 == 0)):
            for what, us in job(args, trees[label], case, words).items():
                least[what][label] = min(us, least[what].get(label, us))
        print(f"turn {turn + 1} of {args.turns}, {case}", file=sys.stderr, flush=True)
    for what, us in least.items():
        ratio = round(us["after"] / us["before"], 3)
        yield {"what": what, "before_us": round(us["before"], 3), "after_us": round(us["after"], 3), "ratio": ratio}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, help="the checkout before the change; that after it is this file's")
    add_options(parser, 2)
    parser.add_argument("--cases", default=CASES, help="(%(default)s)")
    parser.add_argument("--sizes", default=SIZES, help="(%(default)s)")
    parser.add_argument("--words", default="", help="other options of the command, in place of calls and then plans")
    parser.add_argument("--turns", type=int, default=4, help="jobs of each checkout for each case (%(default)s)")
    parser.add_argument("--output", default="cost.json", metavar="JSON", help="(%(default)s)")
    args = parser.parse_args()
    trees = {"before": args.tree.resolve(), "after": ROOT}
    measured_rows = list(compare(args, trees))
    rows.write(args.output, {label: commit_of(tree) for label, tree in trees.items()}, measured_rows)
    print(f"median of the ratios {statistics.median(row['ratio'] for row in measured_rows):.3f}")


if __name__ == "__main__":
    main()
