"""Sweeps on a GPU."""
