"""The way from a kernel, a plain Python function, to the input of a backend's compiler."""
