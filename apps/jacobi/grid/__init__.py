"""The grid: the problem, the rows of each PE, the boundary, the fields and their halos."""
