#!/usr/bin/env bash
# Runs pytest in an environment of its own, which pip makes in build/environments/ the first time.
#   tools/environment.sh oldest ARGUMENTS   the first versions that setup.cfg allows, and CUDA 12's compiler
#   tools/environment.sh newest ARGUMENTS   the last versions that pip finds for the newest Python here, and CUDA 13's
set -euo pipefail
cd "$(dirname "$0")/.."
name=$1
shift
tools="pytest pytest-mpi pytest-xdist greenlet grimp setuptools mpich"
pins='import configparser, re; c = configparser.ConfigParser(); c.read("setup.cfg")
listed = c["options"]["install_requires"] + c["options.extras_require"]["cuda12"]
print(*(re.sub(">=([0-9.]+).*", r"==\1", one) for one in listed.split() if re.match("mpi4py|numpy|numba|h5py|ml_|plat|tomli|cuda-core", one)))'
python=.venv/bin/python
packages=$($python -c "$pins")
if [ "$name" = newest ]; then
    for newer in python3.14 python3.13 python3.12; do
        "$newer" -c "import venv, ensurepip" 2>/dev/null && python=$newer && break
    done
    packages="-e . numba-cuda[cu13] cuda-core"
fi
venv=build/environments/$name
if [ ! "$venv/.ready" -nt setup.cfg ]; then
    "$python" -m venv --clear "$venv"
    # shellcheck disable=SC2086
    "$venv/bin/pip" install --quiet $packages $tools
    touch "$venv/.ready"
fi
PATH="$PWD/$venv/bin:$PATH" exec python -m pytest "$@"
