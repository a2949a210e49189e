"""Passes over grids of one and two dimensions: a warp goes along the points, or down the rows."""
