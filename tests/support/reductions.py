"""Inputs of reductions with a known exact result, whatever the order of the PEs."""

import itertools
from functools import cache

import numpy as np
from mpi4py import MPI

from pennympi.arrays.dtypes import TABLE
from pennympi.kernels.algorithm import Topology
from pennympi.kernels.allreduce import TABLE as ALGORITHMS

N_PES = MPI.COMM_WORLD.size
OPS = ("sum", "prod", "min", "max", "avg")
_PLACES = Topology((0, 0), True, True), Topology((0, 1))  # a node with all abilities, and two nodes
# The (algorithm, dtype) pairs that can run on a topology with some op.
PAIRS = [
    (algorithm.name, name)
    for algorithm, name in itertools.product(ALGORITHMS.values(), TABLE)
    if not all(algorithm.why_not(topology, name, op) for topology in _PLACES for op in OPS)
]
_NUMPY = {"sum": np.add, "avg": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}
# A large value that is added to ones: adding in the 16-bit dtype itself would lose every one of them.
_LARGE = {"float16": 2048, "bfloat16": 256, "float32": 1 << 20, "float64": 1 << 40}
_TURN = {4: 0, 5: 1, 7: 2, 8: 3, 16: 4}


def op_of(name, n_pes=N_PES):
    """The op for a dtype at a number of PEs, which differs at the next number: on a GPU each pair is a kernel."""
    return OPS[([*TABLE].index(name) + n_pes) % len(OPS)]


def sample(items, share):
    """One in ``share`` of the items, different ones at different numbers of PEs."""
    turn = _TURN.get(N_PES, N_PES)
    return [item for i, item in enumerate(items) if i % share == turn % share]


PERIOD = 4099  # period of the values: a prime, so that no piece of a message has this length


@cache
def _raw(n_pes):
    return np.random.default_rng(n_pes).integers(0, 1 << 63, (n_pes, PERIOD), np.int64)


def own(name, op, n_pes, pe, count, phase=0):
    """(count,) elements: the input of PE ``pe``.  phase: position in the period at which they begin"""
    return np.resize(np.roll(_inputs(name, op, n_pes)[pe], -phase), count)


def expected(name, op, n_pes, count, phase=0):
    """(count,) elements: op over the inputs of all PEs."""
    return np.resize(np.roll(_reduced(name, op, n_pes), -phase), count)


@cache
def _inputs(name, op, n_pes):
    dtype, raw = TABLE[name], _raw(n_pes)
    if dtype.kind in "iu":
        return raw.astype(dtype.numpy)  # the low bits can have any value, so that sums and products wrap
    if op == "prod":
        values = np.array([1, -1, 2, 0.5], np.float32)[raw % 4]
    elif op in ("min", "max"):
        values = (raw % 2001 - 1000).astype(np.float32)
    else:
        values = (raw % 17 - 8).astype(np.float64)
        large = np.arange(0, PERIOD, 3)
        values[:, large] = 1
        values[large % n_pes, large] = _LARGE[name]
    return values.astype(dtype.numpy)


@cache
def _reduced(name, op, n_pes):
    with np.errstate(over="ignore"):
        return _partials(name, op, n_pes).astype(TABLE[name].numpy)


@cache
def _partials(name, op, n_pes):
    """The result before rounding."""
    dtype = TABLE[name]
    values = _inputs(name, op, n_pes)
    if op == "avg" and dtype.kind in "iu":
        total = values.astype(object).sum(axis=0)
        return np.sign(total) * (abs(total) // n_pes)
    partial = np.float32 if dtype.acc_bytes != dtype.item_bytes else dtype.numpy
    result = _NUMPY[op].reduce(values.astype(partial), axis=0, dtype=partial)
    if op == "avg":
        result = result / np.dtype(partial).type(n_pes)
    return result


def expected_plus(name, op, n_pes, residual, rounded_first):
    """op over the inputs of all PEs, plus a residual (count,); rounded at the end, and before if ``rounded_first``."""
    dtype = TABLE[name].numpy
    with np.errstate(over="ignore"):
        total = np.resize(_partials(name, op, n_pes), residual.size)
        if rounded_first:
            total = total.astype(dtype)
        partial = np.float32 if TABLE[name].acc_bytes != TABLE[name].item_bytes else dtype
        return (total.astype(partial) + residual.astype(partial)).astype(dtype)


def in_order(values, name, op, residual=None):
    """op over the PEs' values as partials, in the order of the PEs, plus the residual; rounded once."""
    dtype = TABLE[name]
    partial = np.float32 if dtype.acc_bytes != dtype.item_bytes else dtype.numpy.type
    total = values[0].astype(partial)
    for addend in values[1:]:
        total = _NUMPY[op](total, addend.astype(partial))
    total = total / partial(len(values)) if op == "avg" else total
    return (total if residual is None else total + residual.astype(partial)).astype(dtype.numpy)
