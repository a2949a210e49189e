"""The functions that kernels call on a GPU: primitives, packets, waits, and their instructions."""
