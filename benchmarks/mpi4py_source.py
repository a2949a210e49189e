"""mpi4py's source distribution of one release, with its tests and demos, which are not copied into this tree."""

import subprocess
import sys
import tarfile

VERSION = "4.1.2"


def unpacked(to):
    """The folder of it in the folder ``to``.  Raises RuntimeError where the package index does not give it."""
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-binary", "mpi4py", "--dest", str(to)]
    pip = [sys.executable, "-m", "pip", "download", *options, f"mpi4py=={VERSION}"]
    got = subprocess.run(pip, capture_output=True, text=True, timeout=120)
    if got.returncode:
        raise RuntimeError(f"the package index does not give mpi4py {VERSION}: {got.stderr[-200:]}")
    with tarfile.open(to / f"mpi4py-{VERSION}.tar.gz") as archive:
        archive.extractall(to, filter="data")
    return to / f"mpi4py-{VERSION}"
