"""Argument types that several commands use."""

from ..bench import sizes


def size_argument(text: str) -> int:
    """The bytes of a size such as 64K."""
    return sizes.parse(text)


def names_argument(text: str) -> list[str]:
    """The names in a list such as nccl,mpi."""
    return [name for name in text.split(",") if name]


def sizes_argument(text: str) -> list[int]:
    """The bytes of the sizes in a list such as 16,32K."""
    return [sizes.parse(one) for one in names_argument(text)]
