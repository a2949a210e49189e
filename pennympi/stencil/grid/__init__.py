"""Cartesian grids over the PEs of a team: their parts, the exchange of halos, and files."""
