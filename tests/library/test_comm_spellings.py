"""``pennympi.Comm``: the ranks of a call write their arguments in different forms, and all choose the same way."""

import mmap

import numpy as np
import pytest
from mpi4py import MPI

import pennympi

N = 96  # elements of a part
DOUBLE, SPACED = MPI.DOUBLE, MPI.DOUBLE.Create_resized(0, 16).Commit()

# Forms of a message of float64 in mpi4py: (values, parts) -> (its argument, a function that reads the content)
# values: content of the message;  parts: the counts of its parts, or their number if they are equal


def padded(name, argument, before=0, after=0):
    """A form with elements before and after the message.  argument: (array, counts, or count of a part) -> argument"""

    def form(values, parts):
        x = np.pad(values, (before, after), constant_values=-1.0)
        return argument(x, parts if isinstance(parts, list) else values.size // parts), lambda: x[before:][: values.size]

    form.__name__ = name
    return form


def two_dimensions(values, parts):
    x = np.asfortranarray(values.reshape(2, -1, order="F"))
    return x, lambda: x.reshape(-1, order="F")


def bytes_of_it(values, parts):
    x = bytearray(values.tobytes())
    return [x, DOUBLE], lambda: np.frombuffer(x)


def mapped(values, parts):
    x = mmap.mmap(-1, values.nbytes)
    x[:] = values.tobytes()
    return [memoryview(x), values.size // parts, DOUBLE], lambda: np.frombuffer(x[:])


def every_other(values, parts):
    """A derived datatype with gaps that the program may not read."""
    x = np.full(2 * values.size, -1.0)
    x[::2] = values

    def read():
        assert (x[1::2] == -1).all()
        return x[::2]

    return [x, *((parts, None) if isinstance(parts, list) else [values.size // parts]), SPACED], read


def read_only(values, parts):
    x = values.copy()
    x.flags.writeable = False
    return x, lambda: x


def constant(values, parts):
    return [values.tobytes(), DOUBLE], lambda: values


def columns(values, parts):
    """A derived datatype of several numbers."""
    x = np.full((2, values.size // 2), -1.0)
    x[:] = values.reshape(-1, 2).T
    kind = DOUBLE.Create_vector(2, 1, values.size // 2).Create_resized(0, 8).Commit()
    return [x, values.size // 2 // parts, kind], lambda: x.T.reshape(-1)


def starts_of(counts):
    return [sum(counts[:part]) for part in range(len(counts))]


def pair_of_parts(values, counts):
    """Parts in the opposite order, with gaps."""
    x, starts = np.full(2 * values.size, -1.0), [2 * sum(counts[part + 1 :]) for part in range(len(counts))]
    for start, first, count in zip(starts, starts_of(counts), counts, strict=True):
        x[start : start + count] = values[first : first + count]

    def read():
        assert (x == -1).sum() >= values.size
        return np.concatenate([x[start : start + count] for start, count in zip(starts, counts, strict=True)])

    return (x, (np.array(counts, "i"), starts), "d"), read


plain, with_datatype = padded("plain", lambda x, count: x), padded("with a datatype", lambda x, count: [x, DOUBLE])
SPELLINGS = [
    plain,
    two_dimensions,
    with_datatype,
    padded("with a code", lambda x, count: (x, "d")),
    padded("with a count", lambda x, count: [x, count, DOUBLE], after=2),
    padded("with a number of NumPy", lambda x, count: [x, np.int64(count)]),
    padded("with a displacement", lambda x, count: [x, (count, 2), DOUBLE], before=2),
    padded("with a displacement and no count", lambda x, count: [x, (None, 1), DOUBLE], before=1),
    padded("without a displacement", lambda x, count: [x, [count, None], DOUBLE]),
    padded("a pair alone", lambda x, count: [x, [count, 1]], before=1),  # at two ranks the list could be taken for counts
    padded("four items", lambda x, count: [x, count, 1, DOUBLE], before=1),
    bytes_of_it,
    mapped,
    every_other,
]
SENT = [*SPELLINGS, read_only, constant]
MOVED = [padded("as pairs of numbers", lambda x, count: x.view("complex128")), columns]  # forms that can't be reduced
PARTS = [  # forms for parts of any length, with starts that each rank chooses
    padded("packed", lambda x, counts: [x, counts]),
    padded("four items", lambda x, counts: [x, counts, starts_of(counts), DOUBLE]),
    pair_of_parts,
    with_datatype,  # mpi4py computes the counts, which differ by at most one
    every_other,
]


@pytest.fixture(scope="module")
def comm():
    """A communicator with its own context, whose collectives all run on the team."""
    copy = pennympi.Comm(MPI.COMM_WORLD).Dup()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENNYMPI_COMM_FROM_BYTES", "0")
        copy.Allreduce(MPI.IN_PLACE, np.ones(1))
    yield copy
    copy.Free()


def of_rank(comm, n):
    return [np.arange(n) * 1.0 + 1000 * rank for rank in range(comm.size)]


def run(comm, name, sent, received, *args):
    """(result on this rank, expected result) of a call; ``sent`` or ``received`` None: in place."""
    n, me, size = N, comm.rank, comm.size
    parts = name in ("Alltoall", "Reduce_scatter_block")
    data = of_rank(comm, n if name in ("Allgather", "Allgatherv") else n * size)
    total = sum(data)
    own = total[me * n : (me + 1) * n]
    expected = {
        "Bcast": data[0], "Allreduce": total, "Reduce": total, "Reduce_scatter_block": own, "Reduce_scatter": own,
        "Allgather": np.concatenate(data), "Allgatherv": np.concatenate(data),
        "Alltoall": np.concatenate([values[me * n : (me + 1) * n] for values in data]),
    }[name]  # fmt: skip
    if name == "Bcast":
        buf, read = (sent or received)(data[me] if sent else np.zeros_like(data[me]), 1)
        comm.Bcast(buf, 0)
        return read(), expected
    blank = np.zeros_like(expected)
    if sent is None:
        start = data[me]
        if name in ("Allgather", "Allgatherv"):
            start = blank.copy()
            start[me * n : (me + 1) * n] = data[me]
        blank = start
    counts = [n] * size if name == "Allgatherv" else size if name in ("Allgather", "Alltoall") else 1
    if sent is None and name == "Reduce_scatter_block":
        counts = size
    recvbuf, read = received(blank, counts)
    sendbuf = MPI.IN_PLACE if sent is None else sent(data[me], size if parts else 1)[0]
    getattr(comm, name)(sendbuf, recvbuf, *args)
    return read()[: expected.size], expected


REDUCED = ("Allreduce", "Reduce", "Reduce_scatter_block", "Reduce_scatter")
ALL = ("Bcast", *REDUCED, "Allgather", "Alltoall", "Allgatherv")


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize("name", ALL)
def test_ranks_that_write_one_message_in_different_ways(comm, name):
    """Rank 0 uses each form, and the others each form: the result is right, and all calls run on the team."""
    received = PARTS if name == "Allgatherv" else SPELLINGS
    sent = SENT if name in REDUCED else SENT + MOVED
    args = ([N] * comm.size,) if name == "Reduce_scatter" else ()
    wrong, before = [], comm.team._job.control.recent().number
    cases = 0
    for k, first in enumerate(sent):
        for m, others in enumerate(sent if name != "Bcast" else received):
            way = first if comm.rank == 0 else others
            to = received[(k if comm.rank == 0 else m) % len(received)]
            if name == "Bcast":
                got, expected = run(comm, name, first if comm.rank == 0 else None, others)
            else:
                if name in REDUCED and (way is every_other) != (to is every_other):
                    to = way if way is every_other else plain  # mpi4py requires the same datatype
                got, expected = run(comm, name, way, to, *args)
            cases += 1
            if (name != "Reduce" or comm.rank == 0) and not np.array_equal(got, expected):
                wrong.append((first.__name__, others.__name__, to.__name__))
    calls = comm.team._job.control.recent().number - before
    outcomes = comm.team.gather((wrong, calls >= cases))
    assert outcomes == [([], True)] * comm.size, outcomes


@pytest.mark.mpi(min_size=2)
@pytest.mark.parametrize("name", [name for name in ALL if name not in ("Bcast", "Reduce")])
def test_in_place_on_one_rank(comm, name):
    """MPI.IN_PLACE with each form of the receive buffer; Alltoall requires it on all ranks or on none, as MPI does."""
    received = PARTS if name == "Allgatherv" else SPELLINGS
    args = ([N] * comm.size,) if name == "Reduce_scatter" else ()
    wrong = []
    for to in received:
        alone = comm.rank == 0 or name == "Alltoall"
        got, expected = run(comm, name, None if alone else plain, to if alone or name == "Allgatherv" else plain, *args)
        if not np.array_equal(got, expected):
            wrong.append(to.__name__)
    outcomes = comm.team.gather(wrong)
    assert outcomes == [[]] * comm.size, outcomes
