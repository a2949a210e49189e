"""Checked kernels: an access outside the arrays of a launch is named, and all other results are unchanged."""

import numpy as np
import pytest
from on_device import Row, device, same, to_numpy

import pennympi
from pennympi import OutOfBounds, specialised
from pennympi.kernels.block import (
    Elements,
    Static,
    Words,
    add_shared,
    lanes,
    load,
    put,
    put_lines,
    put_signal,
    read_epoch,
    real,
    static,
    store,
    wait,
)
from pennympi.kernels.records import Lines, Message

pytestmark = pytest.mark.mpi


def past_the_end(ctx, y: Elements, x: Elements, n: int):
    for i in lanes(0, n):
        store(y, i + 1, load(x, i))


def element(z, k):
    return load(z - 8, k)


def a_line_too_many(ctx, y: Elements, x: Elements, n: int):
    put_lines(ctx, y, x, Lines(3, 8, 24, 8, 24, 8, 0, n + 1), 0)


def by_a_helper(ctx, y: Elements, x: Elements, n: int):
    for i in lanes(0, n):
        store(y, i, element(x, i))


def of_a_record(ctx, y: Row, x: Row, n: int):
    for i in lanes(0, n):
        store(y.address, y.n - i, real(0.5) * load(x.address, i))


def sum_of(depth: Static[int], ctx, y: Elements, x: Elements, n: int):
    for i in lanes(0, n):
        store(y, i, sum(load(x, i + k) for k in static(depth)))


def by_a_function_inside(ctx, y: Elements, x: Elements, n: int):
    def put_down(i):
        store(y, i, load(x, i))

    for i in lanes(0, n + 1):
        put_down(i)


def words_of(ctx, y: Elements, w: Words, n: int):
    add_shared(w, n, 1)


def to_no_pe(ctx, y: Elements, x: Elements, n: int):
    put(ctx, y, x, 8 * n, 1000)


def to_what_no_peer_has(ctx, y: Elements, x: Elements, n: int):
    put(ctx, x, y, 8 * n, 0)


WRONG = [  # (kernel, text of the call, the mistake)
    (past_the_end, "store(y, i + 1, load(x, i))", "index 10 of y, which has 10 elements"),
    (a_line_too_many, "put_lines(ctx, y, x, Lines(3, 8, 24, 8, 24, 8, 0, n + 1), 0)", "index 10 of y, which has 10 el"),
    (by_a_helper, "load(z - 8, k)", "index -1 of x, which has 10 elements"),
    (of_a_record, "store(y.address, y.n - i, real(0.5) * load(x.address, i))", "index 10 of y.address, which has 10 "),
    (specialised(sum_of, 3), "load(x, i + ", "of x, which has 10 elements"),
    (by_a_function_inside, "load(x, i)", "index 10 of x, which has 10 elements"),
    (words_of, "add_shared(w, n, 1)", "index 10 of w, which has 2 elements"),
    (to_no_pe, "put(ctx, y, x, 8 * n, 1000)", "pe is 1000, and the team has PEs 0 to "),
    (to_what_no_peer_has, "put(ctx, x, y, 8 * n, 0)", "x is not symmetric, so a peer has no instance of it"),
]


@pytest.mark.parametrize(("kernel", "call", "what"), WRONG, ids=[kernel.__name__ for kernel, _, _ in WRONG])
def test_what_leaves_the_arrays(team, kernel, call, what):
    y, x, w = team.zeros(10, "float64"), device(team, np.arange(10.0)), team.signals(2)
    parameters = kernel.__code__.co_varnames
    args = (Row(y, 10), Row(x, 10)) if kernel is of_a_record else (y, w) if "w" in parameters else (y, x)
    checked = team.kernel(kernel, "float64", check=True)
    for _ in range(2):
        with pytest.raises(OutOfBounds) as caught:
            checked(1, *args, 10)
        line = str(caught.value)
        assert "test_checked_kernel.py:" in line and f"{call}" in line and what in line, line
        assert f"in kernel {kernel.__name__}: " in line
    assert team.gather(team.me) == list(range(team.n_pes))


def test_the_result_is_the_same(team):
    """Accesses also lie in arrays if an int holds the address, in symmetric arrays and others, and with ints for
    floats."""

    def scaled(ctx, y, x, factor, n):
        for i in lanes(0, n):
            store(y, i, real(factor) * element(x + 8, i))

    values = np.random.default_rng(1).random(100)
    x = device(team, values)
    found = []
    for check in (False, True):
        y = team.zeros(100, "float64")
        kernel = team.kernel(scaled, "float64", check=check)
        for factor in (3, 0.1):
            kernel(4, y[10:60], x[40:90], factor, 50)
            team.synchronize()
            found.append(to_numpy(y))
        address = y.ctypes.data if team.backend == "host" else y.data.ptr
        kernel(1, address, address + 8, 2.0, 99)
        team.synchronize()
    assert found[0].tobytes() == found[2].tobytes() and found[1].tobytes() == found[3].tobytes()
    assert same(found[1][10:60], 0.1 * values[40:90])


def around(ctx, inbox: Elements, outbox: Elements, nbytes: int, words: Words, right: int, left: int):
    put_signal(ctx, Message(inbox, outbox, nbytes, right), words, read_epoch(words, 1))
    wait(ctx, words, read_epoch(words, 1), left)


@pytest.mark.hosts(most_pes=8)
def test_a_message_that_is_too_long(team, monkeypatch):
    """If one PE sends too much, only this PE gets the error, and no PE waits for ever."""
    inbox, outbox, words = team.zeros(50, "float32"), team.full(50, team.me, "float32"), team.zeros(2, "int64")
    kernel = team.kernel(around, "float32", check=True)
    right, left = (team.me + 1) % team.n_pes, (team.me - 1) % team.n_pes
    for value, nbytes in ((1, 200), (2, 204), (3, 200)):
        words[1] = value
        team.barrier()
        is_wrong = nbytes > 200 and team.me == 0
        said = ""
        try:
            kernel(1, inbox, outbox, nbytes if is_wrong else 200, words, right, left)
        except OutOfBounds as error:
            said = str(error)
        assert ("bytes 0 to 203 of inbox, which has 200 bytes" in said) == is_wrong, said
        team.barrier()
    assert same(inbox, np.full(50, left, np.float32))


def test_by_the_setting(monkeypatch):
    monkeypatch.setenv("PENNYMPI_DEBUG", "1")
    scope = {"store": store, "__name__": "__main__"}
    exec(compile("def typed(ctx, y, n):\n    store(y, n, 1.0)", "<typed>", "exec"), scope)
    with pennympi.init() as team:
        y, x = team.zeros(10, "float64"), team.zeros(10, "float64")
        with pytest.raises(OutOfBounds):
            team.kernel(past_the_end, "float64")(1, y, x, 10)
        team.kernel(past_the_end, "float64", check=False)(1, y, x, 9)
        team.kernel(scope["typed"], "float64")(1, y, 9)  # the text of this function is unknown, so it runs without checks
        with pytest.raises(TypeError, match="needs the text of its function"):
            team.kernel(scope["typed"], "float64", check=True)(1, y, 9)
        team.synchronize()
        assert same(y, [0] * 9 + [1])
