"""Poisson's equation by conjugate gradients on all PEs of a job, with the same bits on any number of PEs."""
