"""A 2-D Laplace solver that overlaps communication with computation."""

import pennympi  # noqa: F401 - without an MPI its error has two lines, and mpi4py's has a page
