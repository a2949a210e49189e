"""Where the PEs of a team run: nodes, links, NICs and rails."""

from .layout import Layout, lay

__all__ = ["Layout", "lay"]
