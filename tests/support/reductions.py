"""Inputs of reductions of which the exact result is known, whatever the order of the PEs."""

import itertools
from functools import cache

import numpy as np
from mpi4py import MPI

from pennympi.arrays.dtypes import TABLE
from pennympi.kernels.algorithm import Topology
from pennympi.kernels.allreduce import TABLE as ALGORITHMS

N_PES = MPI.COMM_WORLD.size
OPS = ("sum", "prod", "min", "max", "avg")
_PLACES = Topology((0, 0), True, True), Topology((0, 1))  # one node with everything, and two nodes
# The (algorithm, dtype) pairs that run anywhere with some op.
PAIRS = [
    (algorithm.name, name)
    for algorithm, name in itertools.product(ALGORITHMS.values(), TABLE)
    if not all(algorithm.why_not(topology, name, op) for topology in _PLACES for op in OPS)
]
_NUMPY = {"sum": np.add, "avg": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}
# One and these many ones: adding in the 16-bit type itself would lose every one of them.
_LARGE = {"float16": 2048, "bfloat16": 256, "float32": 1 << 20, "float64": 1 << 40}
_TURN = {4: 0, 5: 1, 7: 2, 8: 3, 16: 4}


def op_of(name, n_pes=N_PES):
    """The op that goes with a dtype at a number of PEs, another one at the next: on a GPU each pair is a kernel."""
    return OPS[([*TABLE].index(name) + n_pes) % len(OPS)]


def some(items, share):
    """One in ``share`` of the items, others at other numbers of PEs."""
    turn = _TURN.get(N_PES, N_PES)
    return [one for i, one in enumerate(items) if i % share == turn % share]


PERIOD = 4099  # the values repeat: a prime, so that no piece of a message is as long


@cache
def _raw(n_pes):
    return np.random.default_rng(n_pes).integers(0, 1 << 63, (n_pes, PERIOD), np.int64)


def own(name, op, n_pes, pe, count, phase=0):
    """(count,) elements: what PE ``pe`` gives.  phase: where in the period they begin"""
    return np.resize(np.roll(_inputs(name, op, n_pes)[pe], -phase), count)


def expected(name, op, n_pes, count, phase=0):
    """(count,) elements: op over what all PEs give."""
    return np.resize(np.roll(_reduced(name, op, n_pes), -phase), count)


@cache
def _inputs(name, op, n_pes):
    dtype, raw = TABLE[name], _raw(n_pes)
    if dtype.kind in "iu":
        return raw.astype(dtype.numpy)  # the low bits: any value, so that sums and products wrap
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
    """The result before it is rounded."""
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
    """op over what all PEs give, plus a residual (count,): rounded at the end, and before if ``rounded_first``."""
    dtype = TABLE[name].numpy
    with np.errstate(over="ignore"):
        total = np.resize(_partials(name, op, n_pes), residual.size)
        if rounded_first:
            total = total.astype(dtype)
        partial = np.float32 if TABLE[name].acc_bytes != TABLE[name].item_bytes else dtype
        return (total.astype(partial) + residual.astype(partial)).astype(dtype)


def in_order(values, name, op, residual=None):
    """op over the values of each PE, one PE after another as partials, then plus the residual; rounded once."""
    dtype = TABLE[name]
    partial = np.float32 if dtype.acc_bytes != dtype.item_bytes else dtype.numpy.type
    total = values[0].astype(partial)
    for one in values[1:]:
        total = _NUMPY[op](total, one.astype(partial))
    total = total / partial(len(values)) if op == "avg" else total
    return (total if residual is None else total + residual.astype(partial)).astype(dtype.numpy)
