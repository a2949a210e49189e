"""The search for a team's table of measured times.

A table of ``python -m pennympi tune`` in the user's data folder, for the team's device, number of PEs and nodes, comes
first; then a table that comes with the library.
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
    """The file name of the table for a device, nodes and links, such as "nvidia-h200.4.1x4.toml"."""
    slug = "".join(c if c.isalnum() else "-" for c in device.lower()).strip("-")
    sizes = [len(pes) for pes in topology.nodes]
    nodes = f"{len(sizes)}x{sizes[0]}" if len(set(sizes)) == 1 else "+".join(map(str, sizes))
    links = ("" if topology.ll128_safe else "+puts") + ("+multicast" if topology.multicast else "")
    return f"{slug}.{topology.n_pes}.{nodes}{links}.toml"


def users_path(device: str, topology: Topology) -> Path:
    """The path of the table that ``tune`` writes for a device and a topology."""
    return users_folder(platformdirs.user_data_path) / "tuned" / file_name(device, topology)


def find(device: str, topology: Topology) -> Tuned | None:
    """The table for a device and a topology, or None.

    A wrong table in the user's folder causes a warning, and the library's table is used.
    """
    if not setting("PENNYMPI_TUNED"):
        return None
    path, shipped = users_path(device, topology), SHIPPED / file_name(device, topology)
    if os.path.lexists(path):
        try:
            return read(path)
        except FileError as error:
            warnings.warn(f"this table of measured times is not used: {error}", stacklevel=2)
    return read(shipped) if shipped.exists() else None
