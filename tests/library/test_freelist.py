"""The first-fit allocator: random requests against a model of units, and the edges of every request."""

import random
from itertools import pairwise

import pytest

from pennympi.memory.freelist import ALIGN_BYTES, FreeList, aligned

UNITS = 64


class Model:
    """The same memory as one flag for each unit of ALIGN_BYTES.  taken: place -> units"""

    def __init__(self, units):
        self.free, self.taken = [True] * units, {}

    def fits(self, units):
        """Every unit where a request of so many units could begin."""
        return [start for start in range(len(self.free) - units + 1) if all(self.free[start : start + units])]

    def set(self, start, units, free):
        self.free[start : start + units] = [free] * units
        self.taken |= {start: units}


def assert_alike(memory, model):
    units = [unit for start, size in memory.free for unit in range(start // ALIGN_BYTES, (start + size) // ALIGN_BYTES)]
    assert units == [unit for unit, free in enumerate(model.free) if free]
    assert all(end < start for (at, size), (start, _) in pairwise(memory.free) for end in (at + size,))
    assert memory.free_bytes == sum(model.free) * ALIGN_BYTES
    for unit, free in enumerate(model.free):
        for offset in (unit * ALIGN_BYTES, (unit + 1) * ALIGN_BYTES - 1):
            assert memory.taken_at(offset) is not free


def some_bytes(draw, units):
    """A request that takes so many units: the least, the most or one between."""
    return draw.choice(((units - 1) * ALIGN_BYTES + 1, units * ALIGN_BYTES - draw.randrange(ALIGN_BYTES)))


@pytest.mark.parametrize("seed", range(20))
def test_random_requests_against_a_model(seed):
    draw = random.Random(seed)
    memory, model, refused = FreeList(UNITS * ALIGN_BYTES), Model(UNITS), 0
    for _ in range(400):
        action, units = draw.random(), draw.choice((1, 1, 2, 3, 5, 8, 20))
        fits = model.fits(units)
        if action < 0.4 and model.taken:
            start = draw.choice(list(model.taken))
            memory.release(start * ALIGN_BYTES)
            model.set(start, model.taken[start], True)
            del model.taken[start]
        elif action < 0.7:
            offset = memory.take(some_bytes(draw, units))
            assert offset == (fits[0] * ALIGN_BYTES if fits else None)
            refused += offset is None
            if fits:
                model.set(fits[0], units, False)
        else:
            start = draw.randrange(-2, UNITS + 2)
            if start in fits:
                memory.take_at(start * ALIGN_BYTES, some_bytes(draw, units))
                model.set(start, units, False)
            else:
                with pytest.raises(ValueError, match="are not free"):
                    memory.take_at(start * ALIGN_BYTES, some_bytes(draw, units))
        assert_alike(memory, model)
    assert refused, "the memory was never full"
    for start in draw.sample(list(model.taken), len(model.taken)):
        memory.release(start * ALIGN_BYTES)
    assert memory.free == ((0, UNITS * ALIGN_BYTES),)


def test_every_request_takes_whole_units():
    assert [aligned(n) for n in (0, 1, 255, 256, 257, 512)] == [256, 256, 256, 256, 512, 512]
    memory = FreeList(3 * ALIGN_BYTES)
    assert [memory.take(n) for n in (0, 0, 1, 0)] == [0, 256, 512, None]  # a request of 0 bytes has a place of its own


def test_more_memory_joins_what_there_is():
    memory = FreeList()
    assert memory.take(1) is None
    memory.add(4096, 1024)
    memory.add(0, 512)
    assert memory.free == ((0, 512), (4096, 1024))
    assert [memory.take(1024), memory.take(512), memory.take(1)] == [4096, 0, None]
    memory.add(5120, 256)
    memory.release(4096)
    assert memory.free == ((4096, 1280),)
