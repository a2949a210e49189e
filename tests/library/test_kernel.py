"""team.kernel: a user's kernel on this team's device."""

from typing import NamedTuple

import numpy as np
import pytest
from on_device import Row, device, same, to_numpy
from refused import refused

from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.kernels import block as primitives
from pennympi.kernels.block import (
    Elements,
    Message,
    Words,
    add_shared,
    block,
    block_sum,
    blocks,
    is_leader,
    lanes,
    load,
    put_signal,
    real,
    signal,
    store,
    wait,
)

pytestmark = pytest.mark.mpi

SCALE = 3  # a global number is a constant of the kernel


def square(x):
    return x * x


def scaled(ctx, y: Elements, x: Elements, n: int, factor: float):
    """y (n,) = factor * x (n,); the blocks take turns."""
    share = (n + blocks() - 1) // blocks()
    for i in lanes(block() * share, min(n, (block() + 1) * share)):
        store(y, i, real(factor) * load(x, i))


def sum_of_squares(ctx, x: Elements, n: int, words: Words):
    """words (3,) += (integer part of the sum of x*x, number of blocks, SCALE for each block)."""
    share = (n + blocks() - 1) // blocks()
    total = 0.0
    for i in lanes(block() * share, min(n, (block() + 1) * share)):
        total += square(1.0 * load(x, i))
    total = block_sum(total)
    if is_leader():
        add_shared(words, 0, int(total))
        add_shared(words, 1, 1)
        add_shared(words, 2, SCALE)


def powers(ctx, x, n, words):
    """words (3,) += (sum of x, sum of x * x, number of blocks in which the sum of x is NaN)."""
    one, two, first = 0.0, 0.0, primitives.block() * n
    for i in primitives.lanes(first, first + n):
        one += 1.0 * primitives.load(x, i)
        two += 1.0 * primitives.product(load(x, i), load(x, i))
    primitives.add_block_sums(words, (one, two))


def half(row: Row):
    """The first half of a row: a function may take and return records."""
    return Row(row.address, row.n // 2)


class Rows(NamedTuple):
    """Two rows: fields of a record may be records."""

    y: Row
    x: Row


def axpy(ctx, factor, rows: Rows):
    """y (n,) += factor * x (n,), for the first half of both."""
    x, y = rows.x, rows.y
    for i in lanes(0, half(y).n):
        store(y.address, i, load(y.address, i) + real(factor) * load(x.address, i))


@pytest.mark.parametrize("n_blocks", [1, 3, 8])
@pytest.mark.parametrize("threads", [32, 256, 512])
def test_load_and_store(team, n_blocks, threads):
    """Two dtypes of a kernel have different machine code, also if they are launched in turns."""
    values = np.random.default_rng(1).random(1000)
    kernels = {name: team.kernel(scaled, name) for name in ("float32", "float64")}
    for name in (*kernels, *kernels):
        x, y = device(team, values.astype(name)), device(team, np.zeros(1001, name))
        kernels[name](n_blocks, y, x, 1000, 0.1, threads=threads)
        team.synchronize()
        assert same(y[:1000], np.dtype(name).type(0.1) * values.astype(name)) and same(y[1000:], [0])


@pytest.mark.parametrize("n_blocks", [1, 5])
def test_block_sum_and_add_shared(team, n_blocks):
    x, words = device(team, np.arange(777.0, dtype=np.float32)), team.zeros(3, "int64")
    kernel = team.kernel(sum_of_squares, "float32")
    for times in (1, 2):
        kernel(n_blocks, x, 777, words)
        team.synchronize()
        assert same(words, times * np.array([(np.arange(777) ** 2).sum(), n_blocks, SCALE * n_blocks]))


def test_several_sums_of_a_block(team):
    values = np.arange(900.0, dtype=np.float32)
    values[700] = np.nan
    x, words = device(team, values), team.zeros(3, "int64")
    kernel = team.kernel(powers, "float32")
    for _ in range(2):
        kernel(3, x, 300, words)
    team.synchronize()
    assert same(words, 2 * np.array([np.arange(600).sum(), (np.arange(600) ** 2).sum(), 1]))


def test_kinds_of_numbers(team):
    """An int in place of a float, and NumPy's numbers."""
    x = device(team, np.arange(40, dtype=np.float32))
    kernel = team.kernel(scaled, "float32")
    for n, factor in ((40, 2), (40, 2.0), (np.int64(40), np.float64(2)), (np.int32(40), np.float32(2)), (40, True)):
        y = device(team, np.zeros(40, np.float32))
        kernel(1, y, x, n, factor)
        team.synchronize()
        assert same(y, np.arange(40) * float(factor)), (n, factor)


def test_views_and_streams(team):
    """The address of a view is that of its first element; calls on a stream keep their order."""
    x = device(team, np.ones(64, np.float32))
    stream = team.stream("high")
    kernel = team.kernel(scaled, "float32")
    team.synchronize()
    for _ in range(5):
        kernel(2, x[8:24], x[8:24], 16, 2.0, stream=stream)
    team.synchronize(stream)
    assert same(x, [1] * 8 + [32] * 16 + [1] * 40)


def test_kernels_that_were_typed(team):
    """A kernel from a prompt or a notebook has no file; two kernels with the same name and line remain two."""
    for factor in (2, 3):
        scope = {"__name__": "__main__", "lanes": lanes, "load": load, "store": store, "real": real, "Row": Row}
        loop = "for i in lanes(0, x.n): "
        text = f"def typed(ctx, x: Row):\n    {loop}store(x.address, i, real({factor}) * load(x.address, i))"
        exec(compile(text, "<typed>", "exec"), scope)
        x = device(team, np.ones(9, np.float32))
        team.kernel(scope["typed"], "float32")(1, Row(x, 9))
        team.synchronize()
        assert same(x, np.full(9, factor))


def test_bad_arguments(team):
    x = device(team, np.ones(8, np.float32))
    kernel = team.kernel(scaled, "float32")
    for args in ((), (x, x, 8), (x, x, 8, 1.0, 2.0)):
        refused(TypeError, "takes 4 arguments after blocks", kernel, 1, *args)
    for threads in (0, -32, 33, 544, 1024):
        refused(ValueError, "not a multiple of 32 up to 512", kernel, 1, x, x, 8, 1.0, threads=threads)
    for first in (x, 1.0, None):
        refused(TypeError, "the first argument of a launch is the number of blocks", kernel, first, x, 8, 1.0)
    for n_blocks in (0, -1):
        refused(ValueError, "at least one block", kernel, n_blocks, x, x, 8, 1.0)
    for bad in ([1.0], None, "x"):
        refused(TypeError, "is not a", kernel, 1, x, bad, 8, 1.0)
    refused(TypeError, "team.stream()", kernel, 1, x, x, 8, 1.0, stream=object())
    refused(ValueError, "not contiguous", kernel, 1, x, x[::2], 4, 1.0)
    refused(NotImplementedError, "inside a kernel", load, 0, 0)
    kernel(1, x, x, 8, 3.0)
    team.synchronize()
    assert same(x, np.full(8, 3))


def test_records(team):
    """A parameter that is annotated with a NamedTuple takes one, with arrays and numbers inside."""
    values = np.random.default_rng(2).random(100, np.float32)
    x, y = device(team, values), device(team, np.ones(100, np.float32))
    kernel = team.kernel(axpy, "float32")
    kernel(1, 2.0, Rows(Row(y, 100), Row(x, 100)))
    team.synchronize()
    assert same(to_numpy(y), np.concatenate([1 + np.float32(2) * values[:50], np.ones(50, np.float32)]))
    refused(TypeError, "takes a Row as x", kernel, 1, 2.0, Rows(Row(y, 100), (x, 100)))


def around(ctx, inbox, outbox, nbytes, word, value, successor, predecessor):
    """A message to the next PE and an answer to the previous PE, in one block."""
    put_signal(ctx, Message(inbox, outbox, nbytes, successor), word, value)
    wait(ctx, word, value, predecessor)
    signal(ctx, word + 8, value, predecessor)
    wait(ctx, word + 8, value, successor)


@pytest.mark.hosts(most_pes=8)
def test_messages_round_the_ring(team):
    right, left = (team.me + 1) % team.n_pes, (team.me - 1) % team.n_pes
    inbox, signals = team.zeros(500, "int64"), team.signals(2)
    outbox = team.full(500, team.me, "int64")
    kernel = team.kernel(around, "float32")
    team.barrier()
    for value in range(1, 20):
        kernel(1, inbox, outbox, 4000, signals, value, right, left)
    assert same(inbox, np.full(500, left)) and to_numpy(signals).tolist() == [19, 19]


def plus(ctx, x, n):
    """x (n,) += 1."""
    for i in lanes(0, n):
        store(x, i, real(load(x, i) + 1))


@pytest.mark.parametrize("name", ["float64", "int8", "uint64"])
def test_elements_of_any_dtype(team, name):
    edge = np.array([np.iinfo(name).max if DTYPES[name].kind in "iu" else 1e30, 0], name)
    x = device(team, edge)
    team.kernel(plus, name)(1, x, 2)
    with np.errstate(over="ignore"):
        assert same(x, edge + np.array(1, name))  # integers wrap
