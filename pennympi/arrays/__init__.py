"""Arrays as the library sees them: dtype, address and count, DLPack capsules, names of reductions."""
