"""The grid: the problem, its rows on each PE, the boundary, the fields and their halo."""
