"""The first-fit allocator; ``test_arena.py`` makes random requests of it."""

import pytest

from pennympi.memory.freelist import ALIGN_BYTES, FreeList, aligned


def test_every_request_takes_whole_units():
    assert [aligned(n) for n in (0, 1, 255, 256, 257, 512)] == [256, 256, 256, 256, 512, 512]
    memory = FreeList(3 * ALIGN_BYTES)
    assert [memory.take(n) for n in (0, 0, 1, 0)] == [0, 256, 512, None]  # a request of 0 bytes has a place of its own


def test_the_first_range_that_is_large_enough():
    memory = FreeList(8 * ALIGN_BYTES)
    memory.take_at(256, 1)
    memory.take_at(1024, 257)
    assert memory.free == ((0, 256), (512, 512), (1536, 512)) and memory.free_bytes == 1280
    assert [memory.taken_at(offset) for offset in (255, 256, 511, 512, 1535, 1536)] == [None, 256, 256, None, 1024, None]
    for offset, nbytes in ((-256, 1), (256, 1), (768, 257), (1280, 1), (1792, 257), (2048, 1)):
        with pytest.raises(ValueError, match="are not free"):
            memory.take_at(offset, nbytes)
    assert [memory.take(n) for n in (257, 512, 256, 1)] == [512, 1536, 0, None]
    for offset in (1024, 0, 1536, 256, 512):
        memory.release(offset)
    assert memory.free == ((0, 2048),) and not memory.taken


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
