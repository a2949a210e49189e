"""The places of the parts of a collective by counts in an array."""


def starts_of(counts, rng, packed):
    """The starts of the parts: one after the other, or in random order with gaps of at most 3 elements."""
    order, starts, end = list(range(len(counts))), [0] * len(counts), 0
    if not packed:
        rng.shuffle(order)
    for k in order:
        starts[k] = end + (0 if packed else rng.randint(0, 3))
        end = starts[k] + counts[k]
    return starts


def end_of(starts, counts):
    """Number of elements of an array with these parts."""
    return max(start + count for start, count in zip(starts, counts, strict=True))
