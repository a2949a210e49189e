"""Loads, stores, shuffles and norms that the lanes of a warp do together."""
