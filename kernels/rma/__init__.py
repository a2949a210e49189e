"""One-sided operations as kernels."""
