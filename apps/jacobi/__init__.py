"""A 2-D Laplace solver whose communication hides behind its computation."""
