"""Passes over grids of three dimensions: a block goes through the planes."""
