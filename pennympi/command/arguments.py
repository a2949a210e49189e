"""Arguments that several commands read alike."""

from ..bench import sizes


def size_argument(text: str) -> int:
    """64K as bytes."""
    return sizes.parse(text)


def names_argument(text: str) -> list[str]:
    """A list such as nccl,mpi."""
    return [name for name in text.split(",") if name]


def sizes_argument(text: str) -> list[int]:
    """A list such as 16,32K."""
    return [sizes.parse(one) for one in names_argument(text)]
