"""Machine code of a CPU as bytes."""

import json

import numba
import numpy as np
import pytest

from pennympi.host.runtime import compile as machine_code
from pennympi.host.runtime.compile import NotPortable, load, packed

SIGNATURE = numba.float64(numba.int64, numba.float64)


def packed_function(function):
    compiled = numba.njit(function, nogil=True)
    compiled.compile(SIGNATURE)
    result = compiled.overloads[SIGNATURE.args]
    return packed(result.library, result.fndesc.llvm_cpython_wrapper_name)


def test_objects_of_this_process_are_not_packed():
    big = np.arange(1 << 20)  # Numba does not copy an array of this size

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
    seen = {machine_code.code_inputs()}
    for name, value in (("OPT", 1), ("CPU_NAME", "generic"), ("CPU_FEATURES", "+sse2"), ("LOOP_VECTORIZE", 0)):
        with monkeypatch.context() as patched:
            patched.setattr(machine_code.config, name, value)
            seen.add(machine_code.code_inputs())
    assert len(seen) == 5
    assert machine_code.code_inputs() in seen
