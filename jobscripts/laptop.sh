#!/usr/bin/env bash
# A machine without a GPU: the same kernels on the CPU, one PE a rank, as many ranks as you like.
#   jobscripts/laptop.sh                    4 ranks
#   jobscripts/laptop.sh --nx 2048          4 ranks, with options of the program
#   jobscripts/laptop.sh 16 --nx 512 --ny 512 --niter 200 --verify
set -eu
cd "$(dirname "$0")/.."
ranks=4
if [[ "${1:-}" =~ ^[0-9]+$ ]]; then
    ranks=$1
    shift
fi
# What Open MPI asks of a machine with fewer cores than ranks; MPICH needs none of it.
set -a
. tools/openmpi.env
set +a
[ ! -d .venv ] || PATH="$PWD/.venv/bin:$PATH"
exec mpirun -np "$ranks" python -m apps.jacobi --backend host "$@"
