"""The words that tell the blocks of a PE their bricks, and what they give and take (``pennympi/cuda/sweep/brick.py``)."""

from typing import Any

import numpy as np

from ..decomposition import Sizes
from .bricks import AXES_OF, Bricks

AXIS_WORDS, EXCHANGE_WORDS = 7, 6
BLOCK_WORDS = 3 * AXIS_WORDS + EXCHANGE_WORDS
TABLES = [3 * AXIS_WORDS + k for k in (0, 2, 3, 4)]  # the words of a block that name tables
CELL_BITS = 16


def brick_words(bricks: Bricks, me: int, halo: Sizes, slots: int) -> np.ndarray[Any, Any]:
    """The int64 words of PE ``me``: BLOCK_WORDS for each block, then the tables that those name by their offset in bytes.

    slots: lines from an inbox to the next one
    """
    head = np.zeros((bricks.blocks, BLOCK_WORDS), np.int64)
    tables: list[np.ndarray[Any, Any]] = []
    end = head.size

    def keep(words: np.ndarray[Any, Any]) -> int:
        nonlocal end
        tables.append(words)
        end += len(words)
        return 8 * (end - len(words))

    for block, (to, at, given) in enumerate(bricks.sent(me, slots)):
        lines, rows = bricks.lines(me, block), head[block]
        for k, words in enumerate(_axes(bricks, me, block, halo)):
            rows[AXIS_WORDS * k : AXIS_WORDS * (k + 1)] = words
        taken = keep(_halves(_packed(lines.taken)))
        senders = keep(_runs(lines.pe))
        runs = _runs(to)
        rows[3 * AXIS_WORDS :] = (
            taken,
            len(lines.pe),
            senders,
            keep(at + (_packed(given) << 32)),
            keep(runs),
            len(runs) // 2,
        )
    return np.concatenate([head.ravel(), *tables])


def at_address(words: np.ndarray[Any, Any], blocks: int, address: int) -> np.ndarray[Any, Any]:
    """Such words with the tables' addresses, where they lie at an address."""
    words = words.copy()
    words[: blocks * BLOCK_WORDS].reshape(blocks, BLOCK_WORDS)[:, TABLES] += address
    return words


def _axes(bricks: Bricks, me: int, block: int, halo: Sizes) -> list[tuple[int, ...]]:
    """What ``Axis`` of the kernel holds, of each axis."""
    numbers = bricks.numbers(me, block)
    found: list[tuple[int, ...]] = []
    halos = dict(zip(AXES_OF[len(halo)], halo, strict=True))
    for a, (axis, k) in enumerate(zip(bricks.axes, numbers, strict=True)):
        first, (before, after) = axis.first[k - k % bricks.bricks[a]], axis.ends(k)
        at = halos.get(a, 0) + axis.first[k] - first
        rim, own = axis.rim, axis.own[k]
        found.append((own, at, rim, *axis.live(k), rim - before, rim + own + after))
    return found


def _packed(cells: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The elements of a line's cells in one number."""
    return sum((cells[:, k] << CELL_BITS * k for k in range(cells.shape[1])), np.zeros(len(cells), np.int64))


def _halves(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Numbers of 32 bits, two a word."""
    return np.append(numbers, np.zeros(len(numbers) % 2, np.int64)).astype(np.uint32).view(np.int64)


def _runs(pe: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Pairs of words: a PE, and where its run ends."""
    ends = np.flatnonzero(np.diff(pe, append=-1)) + 1
    return np.stack([pe[ends - 1], ends], axis=1).ravel()
