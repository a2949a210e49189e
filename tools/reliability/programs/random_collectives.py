"""Row 2: random calls of the collectives beside AllReduce: dtype, op, root, size, algorithm, plan or not, late PEs."""

import random
import time

from collective_cases import CASES, TABLES, Call, right
from counting import Count, options
from on_device import device, to_numpy

import pennympi
from pennympi.arrays.dtypes import TABLE as DTYPES

OPS = ("sum", "prod", "min", "max", "avg")
given = options(__doc__).parse_args()
with pennympi.init() as team:
    count, shared = Count(team.comm), random.Random(given.seed)
    late = random.Random(1000 * given.seed + team.me)
    for number in range(given.times * len(CASES)):
        name = list(CASES)[number % len(CASES)]
        case, dtype, op = CASES[name], shared.choice(list(DTYPES)), shared.choice(OPS)
        fitting = [row for row, one in TABLES[name].items() if not one.refuse(team.place, dtype, op)]
        algorithm, elements = shared.choice([*fitting, "auto"]), int(10 ** shared.uniform(0, 3.5)) - shared.randrange(2)
        call = Call(dtype, op, team.n_pes, team.me, shared.randrange(team.n_pes), elements)
        planned = shared.random() < 0.1
        x, out = case.fresh(lambda values: device(team, values), call)
        before = to_numpy(out)
        if late.random() < 0.05:
            time.sleep(late.random() / 500)
        if planned:
            case.plan(team, call, x, out)()
        else:
            case.run(team, call, x, out, algorithm=algorithm)
        team.synchronize()
        count.right(right(case, call, out, before), f"seed {given.seed}, call {number}: {name} {algorithm} {call}")
    count.tell()
