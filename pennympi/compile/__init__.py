"""From a kernel, a plain Python function, to what a backend's compiler takes."""
