"""How kernels are compiled for a GPU (no GPU is needed): which code they share, which is new, what can't be compiled."""

import sys

import pytest
from gpu_code import AMPERE, HOPPER, ptx_of

from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.collectives.base import constants
from pennympi.compile.bind import bind
from pennympi.compile.checked import checked
from pennympi.compile.compiler_error import cannot_compile
from pennympi.compile.context import TAGGED
from pennympi.compile.options import KernelOptions
from pennympi.cuda.compiler import compile as backend
from pennympi.cuda.device import combine, stubs
from pennympi.kernels.allreduce import TABLE
from pennympi.kernels.block import lanes, load, put_lines, put_signal, receive_packets, send_packets, store, wait
from pennympi.kernels.records import Lines, Message
from pennympi.kernels.rma import get_bytes, put_bytes

FACTOR = 1234567


def times_factor(x):
    return x * FACTOR


def scale(ctx, x, n):
    for i in lanes(0, n):
        store(x, i, times_factor(load(x, i)))


def test_a_number_of_a_users_module_is_read_each_time(monkeypatch):
    options = {"elements": DTYPES["int64"]}
    assert "1234567" in ptx_of(scale, "scale", **options)
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 7654321)
    code = ptx_of(scale, "scale", **options)
    assert "7654321" in code and "1234567" not in code


def test_kernels_share_what_is_the_same():
    """The second call finds the functions that depend on no call's name; the code has the call's number."""
    row = TABLE["one_shot"]
    options = {"reduction": (DTYPES["float32"], "sum"), "constants": constants(row.kernel, DTYPES["float32"], 2)}
    first = ptx_of(row.kernel, "allreduce (one_shot)", **options)
    before = backend._device.cache_info()
    second = ptx_of(row.kernel, "another call", **options)
    after = backend._device.cache_info()
    assert after.hits - before.hits >= 5 * (after.misses - before.misses) > 0
    own = str(backend.call_number("another call") + TAGGED)
    assert (own in first, own in second) == (False, True)


def subscripts(ctx, y, n):
    for i in lanes(0, n):
        store(y, i, element(y, i))


def element(x, i):
    return x[i]


def without_a_value(ctx, y, n):
    for i in lanes(0, n):
        store(y, i)


def misspelt(ctx, y, n):
    for i in lanes(0, n):
        stor(y, i, 1.0)  # noqa: F821


WRONG = [  # (kernel with a mistake that users of CUDA and NumPy make, the compiler's message)
    (subscripts, "getitem(int64, int64)"),
    (without_a_value, "store() missing 1 required positional argument: 'value'"),
    (misspelt, "name 'stor' is not defined"),
]


@pytest.mark.parametrize(("kernel", "what"), WRONG, ids=lambda value: getattr(value, "__name__", ""))
def test_a_text_that_cannot_be_compiled(kernel, what):
    with pytest.raises(Exception) as caught:  # the compilers raise many types
        ptx_of(kernel, "wrong", elements=DTYPES["float32"])
    text = str(cannot_compile(kernel, caught.value))
    lines = {function.__code__.co_firstlineno + k for function in (kernel, element) for k in range(3)}
    assert what in text and any(f"test_compiled.py:{line}: " in text for line in lines), text


@pytest.mark.parametrize(
    ("body", "constants", "missing"),
    [(combine.combine, {}, "ITEM_BYTES"), (combine.plus, {"ITEM_BYTES": 4, "ALIGNED": True}, "plus_pair")],
)
def test_a_stub_that_is_not_replaced_is_named(body, constants, missing):
    with pytest.raises(KeyError, match=missing):
        bind(body, {}, lambda helper: helper, constants)
    with pytest.raises(NotImplementedError, match=r"begin\(\) is a kernel primitive"):
        stubs.begin((0, 0))


@pytest.fixture
def assembled(monkeypatch, tmp_path):
    """The codes that were assembled, by an assembler that returns its input; no kernel is compiled."""
    monkeypatch.setenv("PENNYMPI_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(backend, "ptx", lambda function, signature, cc, bounds, fused: f"{function} {bounds}")
    monkeypatch.setattr(backend, "entry", lambda kernel, name, *rest: (name, None))
    monkeypatch.setattr(backend, "registers", lambda code: 64)
    codes = []
    monkeypatch.setattr(backend, "_assembled", lambda code, cc: codes.append(code) or code.encode())
    return codes


def test_a_cubin_is_made_once_and_anew_for_whatever_it_depends_on(assembled):
    plain, target = KernelOptions("iiii"), backend.Target(HOPPER)
    calls = [
        (put_bytes, "put", plain, target),
        (get_bytes, "put", plain, target),
        (put_bytes, "other call", plain, target),
        (put_bytes, "put", KernelOptions("iiii", bounds=backend.HALVED), target),
        (put_bytes, "put", KernelOptions("iiii", aligned=True), target),
        (put_bytes, "put", KernelOptions("iiii", constants={"n_pes": 2}), target),
        (put_bytes, "put", KernelOptions("iiii", DTYPES["float32"]), target),
        (put_bytes, "put", plain, backend.Target(AMPERE)),
    ]
    first = [backend.cubin(*call) for call in calls]
    assert [backend.cubin(*call) for call in calls] == first and len(assembled) == len(calls)


def test_a_kernel_of_too_many_registers_is_compiled_for_fewer(assembled, monkeypatch):
    monkeypatch.setattr(backend, "registers", lambda code: backend.MOST_REGISTERS + 1)
    bounded = KernelOptions("iiii", bounds=backend.BOUNDS)
    assert b"min_blocks=2" in backend.cubin(put_bytes, "put", KernelOptions("iiii"), backend.Target(HOPPER))
    assert b"min_blocks=0" in backend.cubin(put_bytes, "put", bounded, backend.Target(HOPPER))


class Operation:
    """A part of a compiler whose ``loc`` is not a line of a file."""

    loc = 3

    def fail(self):
        raise ValueError("no lowering")


def test_an_error_of_a_part_that_knows_no_line():
    with pytest.raises(ValueError, match="no lowering") as caught:
        Operation().fail()
    line = scale.__code__.co_firstlineno
    assert str(cannot_compile(scale, caught.value)).endswith(f"test_compiled.py:{line}: no lowering")


def around(ctx, inbox, outbox, nbytes, words, right):
    put_lines(ctx, inbox, outbox, Lines(1, nbytes, 0, nbytes, 0, nbytes, 0, 2), right)
    send_packets(ctx, Message(inbox, outbox, nbytes, right), 1)
    receive_packets(ctx, Message(outbox, inbox, nbytes, right), 1)
    for i in lanes(0, nbytes):
        store(outbox, i, times_factor(load(inbox, i)))
    put_signal(ctx, Message(inbox, outbox, nbytes, right), words, 1)
    wait(ctx, words, 1, right)


def test_a_checked_kernel():
    kernel, sites = checked(around)
    assert [(one.call, one.operand) for one in sites[10:12]] == [
        ("store(outbox, i, times_factor(load(inbox, i)))", "base"),
        ("load(inbox, i)", "base"),
    ]
    code = ptx_of(kernel, "around", elements=DTYPES["float32"], remote=True)
    assert "atom.global.cas.b64" in code  # by which a thread takes the record
