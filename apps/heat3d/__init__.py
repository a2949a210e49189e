"""Diffusion in three dimensions over ``team.grid``: the example to copy."""
