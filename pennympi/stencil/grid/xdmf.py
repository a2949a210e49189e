"""The XDMF file beside an HDF5 file, with which ParaView opens the fields."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from ...arrays.dtypes import DType

NUMBERS = {  # XDMF's type and bytes of the dtypes that ParaView reads
    "float32": ("Float", 4), "float64": ("Float", 8),
    "int8": ("Char", 1), "int16": ("Int", 2), "int32": ("Int", 4), "int64": ("Int", 8),
    "uint8": ("UChar", 1), "uint16": ("UInt", 2), "uint32": ("UInt", 4),
}  # fmt: skip
PAGE = """<?xml version="1.0"?>
<Xdmf Version="2.0">
  <Domain>
    <Grid Name="grid">
      <Topology TopologyType="3DCoRectMesh" Dimensions="{shape}"/>
      <Geometry GeometryType="ORIGIN_DXDYDZ">
        <DataItem Dimensions="3">0 0 0</DataItem>
        <DataItem Dimensions="3">1 1 1</DataItem>
      </Geometry>
{fields}    </Grid>
  </Domain>
</Xdmf>
"""
FIELD = """      <Attribute Name={name} Center="Node">
        <DataItem Format="HDF" Dimensions="{shape}" NumberType="{kind}" Precision="{nbytes}">{place}</DataItem>
      </Attribute>
"""


def name_of(path: Path) -> Path:
    """Path of the XDMF file of an HDF5 file: u.h5.xdmf of u.h5."""
    return path.with_name(f"{path.name}.xdmf")


def page(path: Path, shape: Sequence[int], dtypes: Mapping[str, DType]) -> str:
    """The text of the XDMF file of an HDF5 file.  shape: shape of all its datasets;  dtypes: their dtypes, by name

    Coordinates are indices, and the last dimension is ParaView's x.  A field of fewer than three dimensions becomes a
    plane or a line in three dimensions, which all readers accept.  Fields of dtypes outside NUMBERS are left out.
    """
    text = " ".join(map(str, (*(1,) * (3 - len(shape)), *shape)))
    fields = ""
    for name, dtype in dtypes.items():
        if dtype.name in NUMBERS:
            kind, nbytes = NUMBERS[dtype.name]
            place = escape(f"{path.name}:/{name}")
            fields += FIELD.format(name=quoteattr(name), shape=text, kind=kind, nbytes=nbytes, place=place)
    return PAGE.format(shape=text, fields=fields)
