"""Symmetric memory that overlapping teams share, on simulated PEs: only the PEs of a team agree on its ranges."""

import random
from dataclasses import dataclass, field

import pytest

from pennympi.memory.arena import TeamArena, common_ranges
from pennympi.memory.freelist import ALIGN_BYTES, FreeList, aligned

SIZE_BYTES = 1 << 16


@dataclass
class SimulatedTeam:
    """A team whose PEs all make the same call at the same time."""

    pes: list[int]
    memory: list[FreeList]
    arrays: list[tuple[int, int]] = field(default_factory=list)  # (offset, bytes)

    def __post_init__(self):
        self.offered = []
        self.arenas = [TeamArena(self.memory[pe], lambda free: self.offered) for pe in self.pes]

    def allocate(self, nbytes):
        """The offset on every PE of the team, or None."""
        self.offered = [self.memory[pe].free for pe in self.pes]
        offsets = {arena.allocate(nbytes) for arena in self.arenas}
        assert len(offsets) == 1, "the PEs of a team took different offsets"
        return offsets.pop()

    def release(self, offset):
        for arena in self.arenas:
            arena.release(offset)


def disjoint(pe, teams):
    """No two live ranges of a PE share a byte, and all other bytes are free, in ranges that do not touch."""
    live = sorted((at, aligned(n)) for team in teams if pe in team.pes for at, n in team.arrays)
    memory = teams[0].memory[pe]
    every = sorted([*live, *memory.free])
    assert [at for at, _ in every] == [0, *(at + n for at, n in every)][:-1], f"PE {pe}: {live} {memory.free}"
    assert sum(every[-1]) == SIZE_BYTES and all(memory.taken_at(at + n - 1) == at for at, n in live)
    assert all(sum(a) < b[0] for a, b in zip(memory.free, memory.free[1:], strict=False))


@pytest.mark.parametrize("seed", range(8))
def test_random_overlapping_teams(seed):
    shared = random.Random(seed)
    n_pes = shared.choice((2, 5, 16))
    memory = [FreeList(SIZE_BYTES) for _ in range(n_pes)]
    teams = [SimulatedTeam(list(range(n_pes)), memory)]
    full = 0
    for _ in range(300):
        team = shared.choice(teams)
        action = shared.random()
        if action < 0.1 and len(teams) < 12:
            teams.append(SimulatedTeam(shared.sample(range(n_pes), shared.randint(1, n_pes)), memory))
        elif action < 0.15 and len(teams) > 1:
            teams.remove(gone := teams[-1])
            for arena in gone.arenas:
                arena.close()
        elif action < 0.45 and team.arrays:
            offset, _ = team.arrays.pop(shared.randrange(len(team.arrays)))
            team.release(offset)
        else:
            nbytes = shared.choice((0, 1, 255, 256, 257, 3000, 9000))
            offset = team.allocate(nbytes)
            assert offset == next((at for at, n in common_ranges(team.offered) if n >= aligned(nbytes)), None)
            if offset is None:
                full += 1
            else:
                assert offset % ALIGN_BYTES == 0
                team.arrays.append((offset, nbytes))
        disjoint(shared.randrange(n_pes), teams)
    assert full
    for pe in range(n_pes):
        disjoint(pe, teams)
    for team in teams:
        for arena in team.arenas:
            arena.close()
    assert all(one.free == ((0, SIZE_BYTES),) for one in memory)
