"""Which sweeps have a norm, and how many sweeps the next step or pass does."""

from collections.abc import Callable, Iterator, Sequence

from ..grid.problem import Problem

LOOKED_AT = 2000  # steps, in which the schedule repeats itself
SHOW_EVERY = 100  # iterations from one norm that NVIDIA's sample prints to the next


def shown(iteration: int, nccheck: int) -> bool:
    """Whether the norm of this iteration is printed: as NVIDIA's sample does, but no oftener than every ``nccheck``."""
    return iteration % max(nccheck, SHOW_EVERY) == 0


def checked(iteration: int, nccheck: int, show: bool) -> bool:
    """Whether the norm of this iteration is computed.  show: whether norms are printed"""
    return iteration % nccheck == 0 or (show and shown(iteration, nccheck))


def next_step(
    problem: Problem, done: int, stop: int, show: bool, most: int, fit: Callable[[list[bool]], int]
) -> list[bool]:
    """For each sweep of the step after ``done`` sweeps, whether its norm is due.

    stop: the last sweep's number, and one;  show: whether printed norms are computed, too
    most: sweeps of a step;  fit: how many sweeps the step does of those whose norms are due so
    """
    due = [checked(k, problem.nccheck, show) for k in range(done, min(stop, done + most))]
    return due[: fit(due)]


def kinds_of_steps(problem: Problem, show: bool, most: int, fit: Callable[[list[bool]], int]) -> Iterator[list[bool]]:
    """Each kind of step of a solve once; see ``next_step``."""
    seen, done = set(), 0
    for _ in range(LOOKED_AT):
        if done == problem.niter:
            break
        due = next_step(problem, done, problem.niter, show, most, fit)
        done += len(due)
        if tuple(due) not in seen:
            seen.add(tuple(due))
            yield due


def fit(due: Sequence[bool], sizes: Sequence[int]) -> int:
    """The number of sweeps of the next pass: one of ``sizes`` (in decreasing order, with 1), at most len(due).

    due: for each of the next sweeps, whether its norm is due
    A pass computes no norm, the norm of its last sweep, or those of all its sweeps.  The last happens when norms are due
    more often than the longest pass ends.
    """
    dues = [k for k, wanted in enumerate(due) if wanted]
    room = len(due) if len(dues) != 1 else dues[0] + 1
    return next(size for size in sizes if size <= room)


def norms(due: Sequence[bool]) -> str:
    """Which norms a pass with these due computes: "none", "last" or "all"."""
    return "all" if any(due[:-1]) else "last" if due[-1] else "none"
