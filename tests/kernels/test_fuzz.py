"""Random AllReduces, one after the other without a wait between: dtype, op, size, algorithm, place, alignment, stream.

The calls follow from a seed, the same on every PE.  PENNYMPI_FUZZ_CALLS sets how many are made at this number of PEs,
PENNYMPI_FUZZ_SEED which; by default the runs at 2, 3, 4, 5, 7, 8 and 16 PEs make 10,000 together.
"""

import os
import random
import time
from dataclasses import dataclass

import numpy as np
import pytest
from on_device import device, to_numpy, write
from reductions import OPS, PERIOD, expected, own

from pennympi.arrays.dtypes import TABLE as DTYPES
from pennympi.kernels.allreduce import TABLE

pytestmark = pytest.mark.mpi

# Taken out of the environment: they are settings of this test, and the library warns of those that it does not know.
CALLS, SEED = (os.environ.pop(f"PENNYMPI_FUZZ_{name}", "") for name in ("CALLS", "SEED"))
DEFAULT_CALLS = {1: 200, 2: 3000, 3: 2200, 4: 1700, 5: 1200, 7: 800, 8: 800, 16: 300}
BATCH = 100  # calls between two looks at the results
BATCH_BYTES = 2 << 20  # arrays of a batch of calls, in one piece of memory
LATE = 20  # one call in so many comes late on a PE
EMPTY = 0xA5  # every byte that no call writes


@dataclass(frozen=True)
class Call:
    """One AllReduce.  x and out lie at ``at`` bytes of the symmetric ("s") or the plain ("p") memory."""

    dtype: str
    op: str
    count: int
    phase: int  # where in the elements of the test, which repeat, it begins
    algorithm: str
    x: str
    out: str  # "" in place
    at: int
    stream: int

    @property
    def nbytes(self):
        return self.count * DTYPES[self.dtype].item_bytes


def size(shared):
    """Elements of a call: none, a few, some, and now and then many."""
    kind = shared.random()
    if kind < 0.1:
        return shared.randrange(17)
    return int(10 ** (shared.uniform(0, 3.5) if kind < 0.9 else shared.uniform(3.5, 4.6)))


def batches(team, calls, seed):
    """Lists of calls that together fit the memory."""
    shared, batch, end = random.Random(seed), [], 0
    for _ in range(calls):
        dtype, op, count = shared.choice(list(DTYPES)), shared.choice(OPS), size(shared)
        fitting = [name for name, row in TABLE.items() if not row.refuse(team.place, dtype, op)]
        algorithm = shared.choice([*fitting, "auto"])
        item_bytes = DTYPES[dtype].item_bytes
        at = -(-end // 16) * 16 + 16 + shared.randrange(4) * item_bytes
        call = Call(
            dtype, op, count, shared.randrange(PERIOD), algorithm, shared.choice("sp"), shared.choice(["", "s", "p"]), at,
            shared.randrange(3),
        )  # fmt: skip
        if len(batch) == BATCH or at + call.nbytes + 16 > BATCH_BYTES:
            yield batch
            batch, end = [], 0
            call = Call(**{**call.__dict__, "at": 16 + at % 16})
        batch.append(call)
        end = call.at + call.nbytes
    yield batch


def images(team, batch):
    """Bytes of (memory, "x" or "out") before and after the batch."""
    before = {(memory, role): np.full(BATCH_BYTES, EMPTY, np.uint8) for memory in "sp" for role in ("x", "out")}
    after = {key: image.copy() for key, image in before.items()}
    for call in batch:
        span, which = slice(call.at, call.at + call.nbytes), np.arange(call.phase, call.phase + call.count) % PERIOD
        given = own(call.dtype, call.op, team.n_pes, team.me, PERIOD)[which].view(np.uint8)
        result = expected(call.dtype, call.op, team.n_pes, PERIOD)[which].view(np.uint8)
        before[call.x, "x"][span] = given
        after[call.x, "x"][span] = given if call.out else result
        if call.out:
            after[call.out, "out"][span] = result
    return before, after


def differing(batch, first, found, wanted):
    """Which calls are to blame for the bytes that differ, by the number of the call."""
    wrong = np.flatnonzero(found != wanted)
    blamed = [
        f"call {first + i}: {call}" for i, call in enumerate(batch)
        if np.any((call.at <= wrong) & (wrong < call.at + call.nbytes))
    ]  # fmt: skip
    return "; ".join(blamed[:3]) or f"no call's: {len(wrong)} bytes from {wrong[0]}, between the arrays"


def test_fuzz(team):
    calls = int(CALLS) if CALLS else DEFAULT_CALLS.get(team.n_pes, 500)
    seed = int(SEED) if SEED else team.n_pes
    late = random.Random(1000 * seed + team.me)
    empty = np.full(BATCH_BYTES, EMPTY, np.uint8)
    memory = {("s", role): team.array(empty) for role in ("x", "out")}
    memory |= {("p", role): device(team, empty) for role in ("x", "out")}
    streams = [None, team.stream(), team.stream("high")]
    done = 0
    for batch in batches(team, calls, seed):
        before, after = images(team, batch)
        for key, image in before.items():
            write(memory[key], image)
        team.synchronize()
        for number, call in enumerate(batch, done):
            if late.randrange(LATE) == 0:
                time.sleep(late.random() / 1000)
            span = slice(call.at, call.at + call.nbytes)
            numpy_dtype = DTYPES[call.dtype].numpy
            x = memory[call.x, "x"][span].view(numpy_dtype)
            out = memory[call.out, "out"][span].view(numpy_dtype) if call.out else None
            try:
                team.allreduce(x, out, call.op, call.algorithm, stream=streams[call.stream])
            except Exception as error:
                error.add_note(f"PENNYMPI_FUZZ_SEED={seed}, call {number}: {call}")
                raise
        team.synchronize()
        for key, image in after.items():
            found = to_numpy(memory[key])
            assert found.tobytes() == image.tobytes(), (
                f"PENNYMPI_FUZZ_SEED={seed}, memory {key}, {differing(batch, done, found, image)}"
            )
        done += len(batch)
    assert done == calls
    team.comm.Barrier()  # no PE frees what another still checks
    for role in ("x", "out"):
        team.free(memory["s", role])
