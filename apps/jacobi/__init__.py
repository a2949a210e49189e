"""A 2-D Laplace solver that overlaps communication with computation."""

import pennympi  # noqa: F401 - it says in two lines that there is no MPI, where mpi4py fills a page
