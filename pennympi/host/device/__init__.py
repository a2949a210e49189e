"""The functions that kernels call on a CPU: primitives, waits, and messages of MPI between nodes."""
