"""Launches of several streams on a device with few slots: does what all PEs issue in the same order complete?

A launch is ready when the one before it in its stream is done, and those that it waits for.  Ready launches join the
device's queue in any order; its head's blocks are dispatched in order of their index, as slots get free, and only then
those of the next.  A block that meets its peers is done once the block of its index runs, or ran, on every PE.

``explore`` tries every schedule, ``wander`` random ones.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

# What a policy is given of one PE: (stream, blocks, workspace) of each launch that meets its peers, in the order in which
# they are issued; it returns which of the earlier ones each waits for.
Ordered = tuple[str, int, str]
Policy = Callable[[Sequence[Ordered]], list[list[int]]]


@dataclass(frozen=True)
class Entry:
    """One launch of a PE.

    kind: "meet" (a collective, an exchange, a barrier), "local" (waits for nobody), "put" (sends a signal and ends)
          or "wait" (one block that waits for the "put" of the same name on any PE)
    name: the same on all PEs for what belongs together
    """

    name: str
    stream: str
    blocks: int
    workspace: str = ""
    kind: str = "meet"


def no_order(launches: Sequence[Ordered]) -> list[list[int]]:
    """Nothing waits but for its stream."""
    return [[] for _ in launches]


def one_at_a_time(launches: Sequence[Ordered]) -> list[list[int]]:
    """Each waits for the one before it, where that is on another stream."""
    return [[j - 1] if j and launches[j - 1][0] != launches[j][0] else [] for j in range(len(launches))]


def together_within(budget_blocks: int) -> Policy:
    """Launches that together fit the budget may run at once, but not two on one workspace."""

    def policy(launches: Sequence[Ordered]) -> list[list[int]]:
        waits = []
        for j, (stream, _, workspace) in enumerate(launches):
            held, apart = 0, j + 1  # launches apart..j fit
            while apart and held + launches[apart - 1][1] <= budget_blocks:
                apart -= 1
                held += launches[apart][1]
            before = [i for i in range(j) if i < apart or launches[i][2] == workspace]
            waits.append([i for i in before if launches[i][0] != stream])
        return waits

    return policy


State = tuple[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]], ...]  # of each PE: queue, dispatched, done


class Device:
    """The same device on every PE.  programs: of each PE, its launches in the order in which they are issued."""

    def __init__(self, programs: Sequence[Sequence[Entry]], slots: int, policy: Policy):
        self.programs, self.slots = programs, slots
        self.start: State = tuple(((), (0,) * len(one), (0,) * len(one)) for one in programs)
        self._waits = [self._waits_of(one, policy) for one in programs]
        self._where = [{entry.name: j for j, entry in enumerate(one)} for one in programs]

    def _waits_of(self, program: Sequence[Entry], policy: Policy) -> list[list[int]]:
        """What each launch waits for: the policy's, and the one before it in its stream."""
        meeting = [j for j, entry in enumerate(program) if entry.kind == "meet"]
        waits = {j: [] for j in range(len(program))}
        found = policy([(program[j].stream, program[j].blocks, program[j].workspace) for j in meeting])
        for j, before in zip(meeting, found, strict=True):
            waits[j] = [meeting[i] for i in before]
        for j, entry in enumerate(program):
            waits[j] += [i for i in range(j) if program[i].stream == entry.stream][-1:]
        return list(waits.values())

    def moves(self, state: State) -> Iterator[State]:
        """The states that may come next."""
        for pe, (queue, dispatched, done) in enumerate(state):
            program = self.programs[pe]
            for j, entry in enumerate(program):
                if done[j] == entry.blocks:
                    continue
                if dispatched[j] or j in queue:
                    if done[j] < dispatched[j] and self._may_end(state, pe, j):
                        ended = tuple(n + (i == j) for i, n in enumerate(done))
                        yield self._with(state, pe, queue, dispatched, ended)
                elif all(done[i] == program[i].blocks for i in self._waits[pe][j]):
                    yield self._with(state, pe, (*queue, j), dispatched, done)

    def is_over(self, state: State) -> bool:
        """Whether all launches are done."""
        return all(done == tuple(e.blocks for e in one) for one, (_, _, done) in zip(self.programs, state, strict=True))

    def _may_end(self, state: State, pe: int, j: int) -> bool:
        """Whether one more block of a launch of PE ``pe`` can end."""
        entry = self.programs[pe][j]
        if entry.kind in ("local", "put"):
            return True
        others = [(other, self._where[other].get(entry.name)) for other in range(len(state))]
        if entry.kind == "meet":
            return all(i is None or state[other][1][i] > state[pe][2][j] for other, i in others)
        return any(
            i is not None and self.programs[other][i].kind == "put" and state[other][2][i] for other, i in others
        )  # fmt: skip

    def _with(
        self, state: State, pe: int, queue: tuple[int, ...], dispatched: tuple[int, ...], done: tuple[int, ...]
    ) -> State:
        """The state with one PE's part changed, and its free slots given to the head of its queue."""
        free = self.slots - sum(dispatched) + sum(done)
        while queue and free:
            head = queue[0]
            n = min(free, self.programs[pe][head].blocks - dispatched[head])
            dispatched = tuple(d + n * (i == head) for i, d in enumerate(dispatched))
            free -= n
            if dispatched[head] == self.programs[pe][head].blocks:
                queue = queue[1:]
        return (*state[:pe], (queue, dispatched, done), *state[pe + 1 :])

    def explain(self, state: State) -> str:
        """Who holds the slots where nobody can go on."""
        holds = []
        for pe, (_, dispatched, done) in enumerate(state):
            running = [(e.name, d - n) for e, d, n in zip(self.programs[pe], dispatched, done, strict=True) if d > n]
            holds.append(f"PE {pe} runs " + (", ".join(f"{n} blocks of {name}" for name, n in running) or "nothing"))
        return "; ".join(holds)


def explore(device: Device) -> str:
    """Every schedule.  Where one ends in a deadlock, and "" if none does."""
    seen, left = {device.start}, [device.start]
    while left:
        state = left.pop()
        stuck = True
        for following in device.moves(state):
            stuck = False
            if following not in seen:
                seen.add(following)
                left.append(following)
        if stuck and not device.is_over(state):
            return device.explain(state)
    return ""


def wander(device: Device, rng: Random) -> str:
    """One random schedule."""
    state = device.start
    while following := list(device.moves(state)):
        state = rng.choice(following)
    return "" if device.is_over(state) else device.explain(state)
