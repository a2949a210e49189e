"""Each PE forks a child, which tries the team and ends in a chosen way; the job goes on."""

import os
import sys

import pennympi

with pennympi.init() as team:
    x = team.full(10, 1, "int32")
    plan = team.plan_allreduce(x)
    child = os.fork()
    if child == 0:
        refused = 0
        for call in (
            lambda: team.allreduce(x),
            plan,
            lambda: team.gather(1),
            lambda: team.empty(3, "float32"),
            lambda: team.put(x, x, 0),
        ):
            try:
                call()
            except pennympi.NotInitialized as error:
                refused += "forked" in str(error)
        print(f"child refused {refused}")
        team.finalize()
        if sys.argv[1] == "exit":
            sys.exit(3)
        raise ValueError("in the child")
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    team.allreduce(x)
    right = set(team.gather(x.tolist() == [team.n_pes] * 10))
    print(f"child ended with {status}, {right}")
