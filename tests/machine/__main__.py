"""Run the machine for a number of minutes:

    python -m tests.machine --minutes 60                       every algorithm, network and kind of array, and mixtures
    python -m tests.machine --algorithms tree ring --network any_order
    python -m tests.machine --algorithms allreduce/tree --network any_order --program 1234/5     one program again

The program prints the first fault of each case that fails, with its seed, and how often the case failed.
"""

import argparse
import os
import time
from collections import Counter

from pennympi.simulator.network import NETWORKS

from .program import Case, all_cases, mixtures, run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", default=str(int.from_bytes(os.urandom(4))), help="default: fresh, and printed")
    parser.add_argument("--algorithms", nargs="*", default=[], help="parts of table/algorithm")
    parser.add_argument("--network", choices=NETWORKS)
    parser.add_argument("--calls", type=int, default=6, help="of a program of one algorithm (a mixture has more)")
    parser.add_argument("--program", help="run each case with just this program's seed")
    args = parser.parse_args()
    print(f"seed {args.seed}", flush=True)
    cases = [
        case
        for case in all_cases()
        if args.network in (None, case.network)
        and (not args.algorithms or any(part in "/".join(case.algorithms[0]) for part in args.algorithms))
    ]
    cases += mixtures(cases) * (1 + len(cases) // 20)
    minutes = 0 if args.program else args.minutes
    end, turn, failed = time.monotonic() + minutes * 60, 0, Counter[Case]()
    while cases and (turn < len(cases) or time.monotonic() < end):
        case = cases[turn % len(cases)]
        turn += 1
        try:
            run(case, args.program or f"{args.seed}/{turn}", args.calls * min(len(case.algorithms), 3))
        except Exception as fault:  # kernels raise many types
            failed[case] += 1
            if failed[case] == 1:
                print(f"{type(fault).__name__}: {fault}\n    {'; '.join(fault.__notes__)}", flush=True)
    print(f"{turn} programs")
    for case, times in failed.items():
        print(f"{case}: {times} of {turn // len(cases)} failed")
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main())
