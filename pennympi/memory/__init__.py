"""Symmetric arrays, the workspaces of collectives, and the order of what uses them."""
