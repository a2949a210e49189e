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


def test_the_same_requests_get_the_same_offsets():
    def offsets():
        draw, memory, held = random.Random(7), FreeList(UNITS * ALIGN_BYTES), []
        for _ in range(200):
            if held and draw.random() < 0.4:
                memory.release(held.pop(draw.randrange(len(held))))
            else:
                offset = memory.take(draw.randrange(4000))
                held += [] if offset is None else [offset]
            yield tuple(held)

    assert list(offsets()) == list(offsets())


def test_every_request_takes_whole_units():
    assert [aligned(n) for n in (0, 1, 255, 256, 257, 512)] == [256, 256, 256, 256, 512, 512]
    memory = FreeList(3 * ALIGN_BYTES)
    assert [memory.take(n) for n in (0, 0, 1, 0)] == [0, 256, 512, None]  # a request of 0 bytes has a place of its own


def test_the_first_range_that_is_large_enough():
    ranges = ((0, 256), (1024, 512), (4096, 512))
    assert [first_fit(ranges, n) for n in (0, 256, 257, 512, 513)] == [0, 0, 1024, 1024, None]
    assert first_fit((), 0) is None


def test_memory_that_is_no_whole_number_of_units():
    memory = FreeList(1000)
    assert [memory.take(n) for n in (256, 256, 256, 200)] == [0, 256, 512, None]
    assert memory.free == ((768, 232),) and memory.free_bytes == 232
    for offset in (256, 0, 512):
        memory.release(offset)
    assert memory.free == ((0, 1000),)


def test_there_may_be_no_memory():
    memory = FreeList()
    assert memory.free == () and memory.free_bytes == 0 and memory.take(0) is None and not memory.taken_at(0)
    with pytest.raises(ValueError, match="from 0 to 256 are not free"):
        memory.take_at(0, 0)


def test_what_is_given_back_joins_both_neighbours():
    memory = FreeList(5 * ALIGN_BYTES)
    for _ in range(5):
        memory.take(ALIGN_BYTES)
    seen = []
    for unit in (1, 3, 2, 0, 4):
        memory.release(unit * ALIGN_BYTES)
        seen.append(tuple((low // ALIGN_BYTES, size // ALIGN_BYTES) for low, size in memory.free))
    assert seen == [((1, 1),), ((1, 1), (3, 1)), ((1, 3),), ((0, 4),), ((0, 5),)]


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


def test_only_free_memory_is_taken():
    memory = FreeList(2048)
    memory.take_at(512, 256)
    assert memory.taken_at(512) and memory.taken_at(767) and not memory.taken_at(768) and not memory.taken_at(511)
    for offset, nbytes in ((512, 1), (256, 512), (1024, 2048), (4096, 1), (-256, 256)):
        with pytest.raises(ValueError, match="are not free"):
            memory.take_at(offset, nbytes)
    assert memory.free == ((0, 512), (768, 1280))


def test_only_what_is_taken_is_given_back():
    memory = FreeList(2048)
    memory.take(512)
    for offset in (256, 512, 2048):  # inside, free, beyond
        with pytest.raises(KeyError):
            memory.release(offset)
    memory.release(0)
    with pytest.raises(KeyError):
        memory.release(0)
    assert memory.free == ((0, 2048),)
