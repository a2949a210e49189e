"""Grids, and sweeps of a user's formula over them."""
