"""Numbers of bytes as people read them."""

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def size_text(nbytes: int) -> str:
    """A size in words: 1536 as "1.5 KiB"."""
    power = min(max(nbytes.bit_length() - 1, 0) // 10, len(_UNITS) - 1)
    return f"{nbytes / (1 << 10 * power):.4g} {_UNITS[power]}"
