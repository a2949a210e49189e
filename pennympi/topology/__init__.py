"""The topology of a team: nodes, links, NICs and rails."""

from .layout import Layout, lay

__all__ = ["Layout", "lay"]
