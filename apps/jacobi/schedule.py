"""Which sweeps have a norm, and how many sweeps the library's plans do at a time."""

from .problem import Problem

SHOW_EVERY = 100  # iterations from one norm that NVIDIA's sample prints to the next
MOST_SWEEPS = 256  # of a chunk: when a norm inside it ends the solve, some of it is done in vain
OFTEN = 16  # sweeps: norms that are due as often as this are computed of all sweeps, others of the last sweep of a chunk


def shown(iteration: int, nccheck: int) -> bool:
    """Whether the norm of this iteration is printed: as NVIDIA's sample does, but no oftener than every ``nccheck``."""
    return iteration % max(nccheck, SHOW_EVERY) == 0


def checked(iteration: int, nccheck: int, show: bool) -> bool:
    """Whether the norm of this iteration is computed.  show: whether norms are printed"""
    return iteration % nccheck == 0 or (show and shown(iteration, nccheck))


def chunk(problem: Problem, done: int, stop: int, show: bool) -> tuple[int, bool | str]:
    """The sweeps of the chunk after ``done`` sweeps, and of which of them ``Grid.plan_sweep`` computes the norm.

    stop: the last sweep's number, and one;  show: whether printed norms are computed, too
    """
    most = min(stop, done + MOST_SWEEPS)
    due = [k for k in range(done, most) if checked(k, problem.nccheck, show)]
    if due and problem.nccheck > OFTEN:
        return due[0] + 1 - done, True
    return most - done, "every" if due else False
