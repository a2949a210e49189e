"""The first-fit allocator: random requests against a model of units, and the edges of every request."""

import random

import pytest

from pennympi.memory.freelist import ALIGN_BYTES, FreeList, aligned, first_fit

UNITS = 64


class Model:
    """The same memory as one flag for each unit of ALIGN_BYTES, and the size in units of what was taken at each place."""

    def __init__(self, units):
        self.free, self.taken = [True] * units, {}

    def fits(self, units):
        """Every unit where a request of so many units could begin."""
        starts = range(len(self.free) - units + 1)
        return [start for start in starts if all(self.free[start : start + units])]

    def take_at(self, start, units):
        self.free[start : start + units] = [False] * units
        self.taken[start] = units

    def release(self, start):
        units = self.taken.pop(start)
        self.free[start : start + units] = [True] * units

    def ranges(self):
        """The free ranges in bytes, each as long as possible."""
        edges = [i for i in range(len(self.free) + 1) if self._free_at(i) != self._free_at(i - 1)]
        pairs = zip(edges[::2], edges[1::2], strict=True)
        return tuple((low * ALIGN_BYTES, (high - low) * ALIGN_BYTES) for low, high in pairs)

    def _free_at(self, unit):
        return 0 <= unit < len(self.free) and self.free[unit]


def assert_alike(memory, model):
    assert memory.free == model.ranges()
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
            model.release(start)
        elif action < 0.7:
            offset = memory.take(some_bytes(draw, units))
            assert offset == (fits[0] * ALIGN_BYTES if fits else None)
            refused += offset is None
            if fits:
                model.take_at(fits[0], units)
        else:
            start = draw.randrange(-2, UNITS + 2)
            if start in fits:
                memory.take_at(start * ALIGN_BYTES, some_bytes(draw, units))
                model.take_at(start, units)
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


def test_the_first_range_that_is_large_enough():
    ranges = ((0, 256), (1024, 512), (4096, 512))
    assert [first_fit(ranges, n) for n in (0, 256, 257, 512, 513)] == [0, 0, 1024, 1024, None]
    assert first_fit((), 0) is None


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
