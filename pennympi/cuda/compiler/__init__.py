"""The way from a kernel to a launch on a GPU."""
