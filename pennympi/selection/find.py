"""Which table of measured times a team uses.

It is what ``python -m pennympi tune`` wrote for the team's device, number of PEs and nodes in the user's data folder;
else one of the tables that come with the library.
"""

import os
import warnings
from pathlib import Path

import platformdirs

from ..files import FileError
from ..kernels.algorithm import Topology
from ..settings import setting, users_folder
from .table import Tuned, read

SHIPPED = Path(__file__).parent / "measured"


def file_name(device: str, topology: Topology) -> str:
    """The file name of the table for a device, its nodes and what its links can do: "nvidia-h200.4.1x4.toml"."""
    slug = "".join(c if c.isalnum() else "-" for c in device.lower()).strip("-")
    sizes = [len(pes) for pes in topology.nodes]
    nodes = f"{len(sizes)}x{sizes[0]}" if len(set(sizes)) == 1 else "+".join(map(str, sizes))
    links = ("" if topology.ll128_safe else "+puts") + ("+multicast" if topology.multicast else "")
    return f"{slug}.{topology.n_pes}.{nodes}{links}.toml"


def users_path(device: str, topology: Topology) -> Path:
    """Where ``tune`` writes the table for a device and a place."""
    return users_folder(platformdirs.user_data_path) / "tuned" / file_name(device, topology)


def find(device: str, topology: Topology) -> Tuned | None:
    """The table for this device and place, or None.

    A wrong one in the user's folder gives a warning, and the library's own table is used.
    """
    if not setting("PENNYMPI_TUNED"):
        return None
    path, own = users_path(device, topology), SHIPPED / file_name(device, topology)
    if os.path.lexists(path):
        try:
            return read(path)
        except FileError as error:
            warnings.warn(f"this table of measured times is not used: {error}", stacklevel=2)
    return read(own) if own.exists() else None
