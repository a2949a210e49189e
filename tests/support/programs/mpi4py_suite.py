"""Modules of mpi4py's own tests, with a ``Comm`` in place of MPI.COMM_WORLD and MPI.COMM_SELF.

mpi4py_suite.py FOLDER plain|comm MODULE ...      prints a line "RAN tests failures skipped" on rank 0

With a Comm the tests also use CuPy's arrays, if there is a GPU.  MPI alone may not accept them, and
between groups of processes it is MPI alone that runs the calls.
"""

import os
import sys
import unittest

import numpy
from mpi4py import MPI

from pennympi.mpi.comm import stand_in_for_mpi4py

folder, which, *modules = sys.argv[1:]
if which == "comm":
    stand_in_for_mpi4py()
sys.path.insert(0, folder)
try:
    import cupy

    has_gpu = cupy.cuda.is_available() and not any(module.endswith("_inter") for module in modules)
except ImportError:
    has_gpu = False
hidden = {name: sys.modules.get(name) for name in ("numba", "cupy") if name == "numba" or which == "plain" or not has_gpu}
sys.modules.update(dict.fromkeys(hidden))
import arrayimpl  # noqa: E402

for name, module in hidden.items():
    del sys.modules[name]
    if module is not None:
        sys.modules[name] = module
if has_gpu and which == "comm":
    MPI.COMM_WORLD.team  # noqa: B018  on GPUs the first team has to hold all PEs
    # NumPy 2 refuses -1 as an unsigned number
    fill = arrayimpl.GPUArrayCuPy.__init__

    def fill_wrapped(array, value, typecode, *options):
        if all(isinstance(number, int) for number in (value if isinstance(value, list) else [value])):
            value = numpy.asarray(value).astype(typecode).tolist()
        fill(array, value, typecode, *options)

    arrayimpl.GPUArrayCuPy.__init__ = fill_wrapped
outcome = unittest.TextTestRunner(verbosity=0).run(unittest.defaultTestLoader.loadTestsFromNames(modules))
wrong = len(outcome.failures) + len(outcome.errors)
if MPI.COMM_WORLD.rank == 0:
    os.write(1, f"\nRAN {outcome.testsRun} {wrong} {len(outcome.skipped)}\n".encode())  # print may write its words apart
sys.exit(wrong > 0)
