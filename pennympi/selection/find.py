"""The table of measured times that a team uses.

``python -m pennympi tune`` writes tables.  A team uses the file that PENNYMPI_TUNED names; else the table for its device,
number of PEs and nodes in the cache folder; else the one among the tables that come with the library.
"""

import os
import warnings
from pathlib import Path

from mpi4py import MPI

from ..files import FileError
from ..kernels.algorithm import Place
from ..settings import setting
from .table_file import REMEDY, parse, read
from .tuned import Tuned

SHIPPED = Path(__file__).parent / "measured"


def topology_of(place: Place) -> str:
    """The nodes of a place and what its links can do, as one word: "1x4", "2x8+puts"."""
    sizes = [len(pes) for pes in place.nodes]
    alike = len(set(sizes)) == 1
    word = f"{len(sizes)}x{sizes[0]}" if alike else "+".join(map(str, sizes))
    return word + ("" if place.ll128_safe else "+puts") + ("+multicast" if place.multicast else "")


def file_name(device: str, place: Place) -> str:
    """The file name of the table for a device and a place."""
    slug = "".join(c if c.isalnum() else "-" for c in device.lower()).strip("-")
    return f"{slug}.{place.n_pes}.{topology_of(place)}.toml"


def user_folder() -> Path:
    """The folder of the tables that ``tune`` writes by default."""
    return Path(setting("PENNYMPI_CACHE_DIR")) / "tuned"


def user_file(device: str, place: Place) -> Path:
    """The file that ``tune`` writes by default."""
    return user_folder() / file_name(device, place)


def named_file() -> Path | None:
    """The file that PENNYMPI_TUNED names, or None."""
    named = setting("PENNYMPI_TUNED")
    return None if named.lower() in ("auto", "none") else Path(named).expanduser()


def check_named(n_pes: int) -> None:
    """Raise FileError if PENNYMPI_TUNED names a file that is no table, or one for another number of PEs."""
    if (path := named_file()) is not None:
        _check_fits(_read_named(path), "", n_pes, "")


def _read_named(path: Path) -> Tuned:
    try:
        return read(path)
    except FileError as error:
        raise FileError(f"PENNYMPI_TUNED: {error}") from None


def find(device: str, place: Place) -> Tuned | None:
    """The table for this device and place, or None.

    Raises FileError for a file that PENNYMPI_TUNED names and that is no table, or not for this device and place.  One in
    the usual folder gives a warning, and the library's own table is used.
    """
    if (path := named_file()) is not None:
        table = _read_named(path)
        return table if _check_fits(table, device, place.n_pes, topology_of(place)) else None
    if setting("PENNYMPI_TUNED").lower() == "none":
        return None
    name = file_name(device, place)
    path = user_file(device, place)
    if os.path.lexists(path):
        try:
            table = read(path)
            if name != file_name(table.device, place) or (table.pes, table.topology) != (place.n_pes, topology_of(place)):
                raise FileError(f"{path} is the table of {_machine(table)}: {REMEDY}")
            return table
        except FileError as error:
            warnings.warn(f"this table of measured times is not used: {error}", stacklevel=2)
    own = SHIPPED / name
    return parse(own.read_text(), f"the library's {name}") if own.exists() else None


def _check_fits(table: Tuned, device: str, n_pes: int, topology: str) -> bool:
    """True if a table that PENNYMPI_TUNED names is for this machine; an empty argument fits any table.

    Where it is not, raises FileError for a team of all ranks; for a smaller team, whose table it need not be, False.
    """
    wanted = (n_pes, device or table.device, topology or table.topology)
    fits = (table.pes, table.device, table.topology) == wanted
    if not fits and n_pes == MPI.COMM_WORLD.size:
        here = f"{n_pes} PEs{f' on {device}, {topology}' if device else ''}"
        raise FileError(
            f"PENNYMPI_TUNED: {table.source} is the table of {_machine(table)}, and this team has {here}: "
            "run `python -m pennympi tune` here, or unset PENNYMPI_TUNED"
        )
    return fits


def _machine(table: Tuned) -> str:
    return f"{table.pes} PEs on {table.device}, {table.topology}"
