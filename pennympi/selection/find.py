"""Which table of measured times a team uses.

It is the file that PENNYMPI_TUNED names; else what ``python -m pennympi tune`` wrote for the team's device, number of PEs
and nodes in the user's data folder; else one of the tables that come with the library.
"""

import os
import warnings
from pathlib import Path

from mpi4py import MPI

from ..files import FileError
from ..kernels.algorithm import Topology
from ..settings import setting
from .table import REMEDY, Tuned, read

SHIPPED = Path(__file__).parent / "measured"


def topology_word(topology: Topology) -> str:
    """The nodes of a place and what its links can do, as one word: "1x4", "2x8+puts"."""
    sizes = [len(pes) for pes in topology.nodes]
    word = f"{len(sizes)}x{sizes[0]}" if len(set(sizes)) == 1 else "+".join(map(str, sizes))
    return word + ("" if topology.ll128_safe else "+puts") + ("+multicast" if topology.multicast else "")


def file_name(device: str, topology: Topology) -> str:
    """The file name of the table for a device and a place."""
    slug = "".join(c if c.isalnum() else "-" for c in device.lower()).strip("-")
    return f"{slug}.{topology.n_pes}.{topology_word(topology)}.toml"


def user_folder() -> Path:
    """The folder of the tables that ``tune`` writes by default."""
    return Path(setting("PENNYMPI_DATA_DIR")) / "tuned"


def named_table() -> Tuned | None:
    """The table in the file that PENNYMPI_TUNED names, None if it names none.  Raises FileError."""
    name = setting("PENNYMPI_TUNED")
    if name.lower() in ("auto", "none"):
        return None
    try:
        return read(Path(name).expanduser())
    except FileError as error:
        raise FileError(f"PENNYMPI_TUNED: {error}") from None


def find(device: str, topology: Topology) -> Tuned | None:
    """The table for this device and place, or None.

    Raises FileError for a file that PENNYMPI_TUNED names and that is no table or, for a team of all ranks, one of
    another machine.  One in the user's folder gives a warning, and the library's own table is used.
    """
    name, here = file_name(device, topology), (device, topology.n_pes, topology_word(topology))
    if table := named_table():
        if (table.device, table.pes, table.topology) == here:
            return table
        if topology.n_pes != MPI.COMM_WORLD.size:
            return None
        raise FileError(
            f"PENNYMPI_TUNED: {table.source} is {table}, and this team has {topology.n_pes} PEs on {device}, {here[2]}: "
            "run `python -m pennympi tune` here, or unset PENNYMPI_TUNED"
        )
    own, path = SHIPPED / name, user_folder() / name
    if setting("PENNYMPI_TUNED").lower() == "none":
        return None
    if os.path.lexists(path):
        try:
            table = read(path)
            if (table.device, table.pes, table.topology) == here:
                return table
            raise FileError(f"{path} is {table}: {REMEDY}")
        except FileError as error:
            warnings.warn(f"this table of measured times is not used: {error}", stacklevel=2)
    return read(own) if own.exists() else None
