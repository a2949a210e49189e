"""Row 18: allocate until the heap is full, free in random order, again and again; unequal requests of one PE."""

import random

from counting import Count, options

import pennympi
from pennympi import SymmetricHeapExhausted

given = options(__doc__).parse_args()
HEAP_BYTES = 4 << 20
with pennympi.init(heap_bytes=HEAP_BYTES) as team:
    count, shared = Count(team.comm), random.Random(given.seed)

    def largest():
        """KiB of the largest array that there is room for."""
        low, high = 0, HEAP_BYTES >> 10
        while low < high:
            middle = (low + high + 1) // 2
            try:
                team.free(team.empty(middle << 10, "uint8"))
                low = middle
            except SymmetricHeapExhausted:
                high = middle - 1
        return low

    at_first = largest() if team.backend == "host" else 0
    for turn in range(given.times):
        held, error = [], None
        while error is None and len(held) < 200:
            try:
                held.append(team.empty(shared.randrange(1 << 10, 1 << 18), "uint8"))
            except SymmetricHeapExhausted as found:
                error = found
        if team.backend == "host":
            text = str(error)
            ok = error is not None and "cannot give" in text and "PENNYMPI_SYMMETRIC_SIZE" in text
            count.right(ok, f"turn {turn}: {text}")
        shared.shuffle(held)
        for array in held:
            team.free(array)
        if turn % 50 == 0:
            text = ""
            try:
                team.empty(100 + (team.me == turn // 50 % team.n_pes), "float32")
            except ValueError as found:
                text = str(found)
            count.right(bool(text) and len(set(team.gather(bool(text)))) == 1, f"unequal sizes: {text or 'not told'}")
    if team.backend == "host":
        now = largest()
        count.right(now >= 0.95 * at_first, f"the largest array was {at_first} KiB, and is {now} KiB")
    count.tell()
