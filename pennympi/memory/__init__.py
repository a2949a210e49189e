"""Symmetric arrays, the workspaces of collectives, and the order of the launches that use them."""
