"""Numbers of bytes in messages, in units that people read."""

from pennympi.errors import SymmetricHeapExhausted
from pennympi.units import size_text


def test_sizes_in_words():
    sizes = (0, 1, 1023, 1024, 1536, 1 << 20, (1 << 30) - 1, 1 << 30, 3 << 39, 1 << 46, 1 << 62)
    said = "0 B, 1 B, 1023 B, 1 KiB, 1.5 KiB, 1 MiB, 1024 MiB, 1 GiB, 1.5 TiB, 64 TiB, 4 EiB"
    assert ", ".join(map(size_text, sizes)) == said


def test_a_full_heap_says_how_full():
    assert str(SymmetricHeapExhausted(3 << 30, 1 << 30, "free arrays")) == (
        "the symmetric heap cannot give 3 GiB on every PE: 1 GiB are free; free arrays"
    )
    assert "cannot give 134217728 bytes on every PE: 134213632 bytes are free" in str(
        SymmetricHeapExhausted(1 << 27, (1 << 27) - 4096, "free arrays")
    )
