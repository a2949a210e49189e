"""Row 9: two teams, streams, plans and eager calls, 32 under way at a time, and on GPUs graphs that are replayed."""

import random

from counting import Count, options
from on_device import to_numpy

import pennympi

given = options(__doc__).parse_args()
UNDER_WAY = 32
with pennympi.init() as team, pennympi.init(team.comm.Split(team.me % 2, -team.me)) as half:
    count, shared = Count(team.comm), random.Random(given.seed)
    teams = (team, half)
    streams = [team.stream() for _ in range(3)]
    x = [one.full(777, one.me + 1, "int64") for one in teams]
    outs = [[one.zeros(777, "int64") for _ in range(UNDER_WAY)] for one in teams]
    plans = [[one.plan_allreduce(x[t], out) for out in outs[t][:4]] for t, one in enumerate(teams)]
    team.synchronize()
    for turn in range(max(1, given.times // UNDER_WAY)):
        used = []
        for k in range(UNDER_WAY):
            t, stream = shared.randrange(2), streams[shared.randrange(3)]
            if k < 4 and shared.random() < 0.5:
                plans[t][k](stream)
            else:
                teams[t].allreduce(x[t], outs[t][k], stream=stream)
            used.append(t)
        for stream in streams:
            team.synchronize(stream)
        for k, t in enumerate(used):
            n = teams[t].n_pes
            wanted = n * (n + 1) // 2
            count.right((to_numpy(outs[t][k]) == wanted).all(), f"turn {turn}, call {k} of team {t}")
        for t in range(2):
            for out in outs[t]:
                out[:] = 0
        team.comm.Barrier()
    if team.backend == "cuda":
        stream = streams[0]
        with stream:
            stream.begin_capture()
            for t in range(2):
                plans[t][0](stream)
            graph = stream.end_capture()
        for _ in range(given.times):
            graph.launch(stream)
        team.synchronize(stream)
        for t, one in enumerate(teams):
            count.right((to_numpy(outs[t][0]) == one.n_pes * (one.n_pes + 1) // 2).all(), "a replayed graph")
        count.done += given.times
    count.tell()
