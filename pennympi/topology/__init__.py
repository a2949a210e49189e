"""Where the PEs of a team run: nodes, links, NICs and rails."""

from .layout import Layout, lay
from .traffic import bytes_by_rail

__all__ = ["Layout", "bytes_by_rail", "lay"]
