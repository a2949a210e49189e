"""What a program of the scorecard did and what was wrong, counted on every PE and told by PE 0."""

import argparse
import json


class Count:
    """``right(ok, what)`` counts one check; ``tell()``, which is collective, adds up over the PEs and prints one line."""

    def __init__(self, comm):
        self.comm, self.done, self.wrong, self.first = comm, 0, 0, ""

    def right(self, ok, what=""):
        """Count one check.  what: words for a wrong one"""
        self.done += 1
        if not ok:
            self.wrong += 1
            self.first = self.first or f"PE {self.comm.Get_rank()}: {what}"
        return ok

    def tell(self, **more):
        """One line for all PEs: ``done`` is PE 0's, ``wrong`` that of the PE with most."""
        told = self.comm.gather((self.done, self.wrong, self.first))
        if self.comm.Get_rank() == 0:
            first = next((words for _, _, words in told if words), "")
            result = {"done": told[0][0], "wrong": max(wrong for _, wrong, _ in told), "first": first[:300]}
            print("COUNTED " + json.dumps(result | more), flush=True)


def options(doc):
    """--times N and --seed N, and what else a program adds before it parses."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    return parser
