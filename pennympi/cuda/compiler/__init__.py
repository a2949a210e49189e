"""From a kernel to a launch on a GPU."""
