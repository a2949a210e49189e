"""The end of a loop on the device: after each run of its body one thread decides whether there is another one."""

from .block import Elements, Words, add_shared, lanes, load, read_epoch, store

RUNS, DONE, WORDS = 0, 1, 2  # int64 words of a loop


def begin(ctx, words: Words, more: Words):
    """No run yet: a kernel of int64 elements, as a launch leaves two arguments open; ``more`` is not used."""
    for k in lanes(0, WORDS):
        store(words, k, 0)


def decide(ctx, value: Elements, words: Words, below: float, most: int):
    """After a run: count it; end the loop unless value[0] > below and fewer than ``most`` ran.  Nothing after its end."""
    for _ in lanes(0, 1):
        if read_epoch(words, DONE) == 0:
            runs = read_epoch(words, RUNS) + 1
            add_shared(words, RUNS, 1)
            if runs >= most or not load(value, 0) > below:
                add_shared(words, DONE, 1)
