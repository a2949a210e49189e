"""Where the parts of a collective by counts lie in an array."""


def starts_of(counts, rng, packed):
    """Where each part begins: one after the other, or in any order and with gaps of at most 3 elements."""
    order, starts, end = list(range(len(counts))), [0] * len(counts), 0
    if not packed:
        rng.shuffle(order)
    for k in order:
        starts[k] = end + (0 if packed else rng.randint(0, 3))
        end = starts[k] + counts[k]
    return starts


def end_of(starts, counts):
    """Elements of an array of these parts."""
    return max(start + count for start, count in zip(starts, counts, strict=True))
