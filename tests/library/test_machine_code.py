"""A CPU's machine code as bytes, and what a kernel's digest covers."""

import json
import sys

import numba
import numpy as np
import pytest

from pennympi.compile.bind import kernel_hash
from pennympi.host import compile as machine_code
from pennympi.host.compile import NotPortable, load, packed
from pennympi.kernels import block
from pennympi.kernels.block import lanes, store

SIGNATURE = numba.float64(numba.int64, numba.float64)


def packed_function(function):
    compiled = numba.njit(function, nogil=True)
    compiled.compile(SIGNATURE)
    result = compiled.overloads[SIGNATURE.args]
    return packed(result.library, result.fndesc.llvm_cpython_wrapper_name)


def test_objects_of_this_process_are_not_packed():
    big = np.arange(1 << 20)  # Numba leaves it where it is

    def function(n, x):
        return big[n] * x

    with pytest.raises(NotPortable):
        packed_function(function)


def test_what_this_process_lacks_is_not_linked():
    head, _, code = packed_function(lambda n, x: n * x).partition(b"\n")
    entry, environments, needs = json.loads(head)
    with pytest.raises(NotPortable, match="no_such_function"):
        load(json.dumps([entry, environments, [*needs, "no_such_function"]]).encode() + b"\n" + code)


def test_the_facts_tell_cpus_and_settings_apart(monkeypatch):
    seen = {machine_code.facts()}
    for name, value in (("OPT", 1), ("CPU_NAME", "generic"), ("CPU_FEATURES", "+sse2"), ("LOOP_VECTORIZE", 0)):
        with monkeypatch.context() as patched:
            patched.setattr(machine_code.config, name, value)
            seen.add(machine_code.facts())
    assert len(seen) == 5
    assert machine_code.facts() in seen


FACTOR, TABLE, ARRAY = 2, (1, 2.5), np.arange(3)


@numba.njit
def jitted(x):
    return x * FACTOR


def plain(x):
    return x + TABLE[0]


def kernel_of(number):
    def kernel(ctx, x, n):
        for i in lanes(0, n):
            store(x, i, plain(block.load(x, i)) * number + jitted(i) + ARRAY[0])

    return kernel


def test_the_hash_covers_the_numbers_in_globals_and_closures(monkeypatch):
    seen = {kernel_hash(kernel_of(2))}
    assert kernel_hash(kernel_of(2)) in seen
    seen |= {kernel_hash(kernel_of(number)) for number in (3, 2.0, True, np.float32(2))}
    for name, value in (("FACTOR", 3), ("TABLE", (1, 2)), ("ARRAY", np.arange(1, 4))):
        with monkeypatch.context() as patched:
            patched.setattr(sys.modules[__name__], name, value)
            seen.add(kernel_hash(kernel_of(2)))
    assert len(seen) == 8


def twice(function):
    def called_twice(x):
        return function(function(x))

    return called_twice


def test_the_hash_covers_how_often_a_closure_holds_another_one():
    hashes = [kernel_hash(kernel) for kernel in (twice(plain), twice(twice(plain)), twice(twice(twice(plain))))]
    assert len(set(hashes)) == 3
    assert kernel_hash(twice(twice(plain))) == hashes[1]
