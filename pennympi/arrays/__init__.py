"""What the library needs to know of arrays: dtypes, address and count, DLPack, the names of reductions."""
