"""Let the machine work for as long as wanted:

    python -m tests.machine --minutes 60                       every row, network and kind of array, in turn
    python -m tests.machine --rows tree ring --network any_order
    python -m tests.machine --seed 1234 --rows tree            the programs of a seed again
    python -m tests.machine --known --minutes 2                only what is known to fail

It prints one line for each case that fails: how often, and the first fault with the seed of its program.
"""

import argparse
import os
import time
from collections import Counter

from .faults import Fault
from .known import KNOWN
from .network import NETWORKS
from .program import Case, all_cases, key, run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", default=str(int.from_bytes(os.urandom(4))), help="default: fresh, and printed")
    parser.add_argument("--rows", nargs="*", default=[], help="parts of table/row")
    parser.add_argument("--network", choices=NETWORKS)
    parser.add_argument("--known", action="store_true", help="what is known to fail, instead of all else")
    parser.add_argument("--calls", type=int, default=6, help="of a program")
    args = parser.parse_args()
    print(f"seed {args.seed}", flush=True)
    cases = [
        case
        for case in all_cases()
        if args.network in (None, case.network)
        and (key(case) in KNOWN) == args.known
        and (not args.rows or any(part in "/".join(case.rows[0]) for part in args.rows))
    ]
    end, turn, failed = time.monotonic() + args.minutes * 60, 0, Counter[Case]()
    while cases and (turn < len(cases) or time.monotonic() < end):
        case = cases[turn % len(cases)]
        turn += 1
        try:
            run(case, f"{args.seed}/{turn}", args.calls)
        except Fault as fault:
            failed[case] += 1
            if failed[case] == 1:
                print(f"{type(fault).__name__}: {fault}\n    {'; '.join(fault.__notes__)}", flush=True)
    print(f"{turn} programs")
    for case, times in failed.items():
        print(f"{case}: {times} of {turn // len(cases)} failed")
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main())
