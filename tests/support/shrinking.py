"""A value that becomes smaller in each run of a loop's body, and a loop of the host for comparison."""

from on_device import same, to_numpy, write

from pennympi.kernels.block import Elements, lanes, load, real, store

LIMIT = 0.1  # value at which loops end


def shrink(ctx, x: Elements, n: int, partial: Elements, rate: float):
    """Halve n elements, and make this PE's part of the value smaller."""
    for k in lanes(0, n):
        store(x, k, real(0.5) * load(x, k))
    for _ in lanes(0, 1):
        store(partial, 0, real(rate) * load(partial, 0))


def copy(ctx, to: Elements, source: Elements):
    for k in lanes(0, 1):
        store(to, k, load(source, k))


class Shrinking:
    """The largest rest of 1 on any PE; in each run every PE takes away a different share of its rest."""

    def __init__(self, team, dtype="float64"):
        self.rate = 0.5 + 0.3 * team.me / team.n_pes
        self.partial, self.value = team.zeros(1, dtype), team.zeros(1, dtype)
        self.total, self.shrink = team.plan_allreduce(self.partial, self.value, "max"), team.kernel(shrink, dtype)

    def reset(self):
        write(self.partial, [1])

    def step(self, x, stream=None):
        self.shrink(1, x, x.size, self.partial, self.rate, stream=stream)
        self.total(stream)


def run_by_host(team, body, value, below=LIMIT, most=10_000):
    """Run the body in a loop of the host; return the number of runs."""
    runs, more = 0, True
    while more:
        body(None)
        team.synchronize()
        runs += 1
        more = runs < most and to_numpy(value)[0] > below
    return runs


def check_loop(team, reset, body, value, arrays, below=LIMIT, most=10_000):
    """Check that two calls of a loop have the same results as a loop of the host; return the number of runs."""
    reset()
    team.barrier()
    runs = run_by_host(team, body, value, below, most)
    right = [to_numpy(x) for x in (value, *arrays)]
    loop = team.plan_loop(body, value, below, most)
    for _ in range(2):
        reset()
        team.barrier()
        loop()
        team.synchronize()
        assert to_numpy(loop.runs).tolist() == [runs] and to_numpy(loop.done)[0] != 0
        assert all(same(x, left) for x, left in zip((value, *arrays), right, strict=True))
    assert team.gather(runs) == [runs] * team.n_pes
    return runs
