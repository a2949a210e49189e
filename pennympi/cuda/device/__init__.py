"""What kernels call on a GPU: primitives, packets, waits, and the instructions below them."""
