"""The XDMF file beside an HDF5 file, by which ParaView and VisIt read it."""

from pathlib import Path

from ...program.whole_files import write_text
from ..grid.problem import Problem

TEXT = """<?xml version="1.0" ?>
<!DOCTYPE Xdmf SYSTEM "Xdmf.dtd" []>
<Xdmf Version="3.0">
  <Domain>
    <Grid Name="jacobi" GridType="Uniform">
      <Time Value="{iterations}"/>
      <Topology TopologyType="2DCoRectMesh" Dimensions="{ny} {nx}"/>
      <Geometry GeometryType="ORIGIN_DXDY">
        <DataItem Format="XML" Dimensions="2">0 0</DataItem>
        <DataItem Format="XML" Dimensions="2">1 1</DataItem>
      </Geometry>
      <Attribute Name="u" AttributeType="Scalar" Center="Node">
        <DataItem Format="HDF" NumberType="Float" Precision="{item_bytes}" Dimensions="{ny} {nx}">{file}:/field</DataItem>
      </Attribute>
    </Grid>
  </Domain>
</Xdmf>
"""


def name_of(path: Path) -> Path:
    """The name of the XDMF file of an HDF5 file."""
    return path.with_suffix(".xdmf")


def write(path: Path, problem: Problem, iterations: int) -> None:
    """Write the XDMF file of the HDF5 file ``path``.  Its time is the number of iterations.  Raises OSError."""
    sizes = {"nx": problem.nx, "ny": problem.ny, "item_bytes": problem.item_bytes}
    write_text(name_of(path), TEXT.format(iterations=iterations, file=path.name, **sizes))
