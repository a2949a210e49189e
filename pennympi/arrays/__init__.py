"""Descriptions of arrays: dtype, address and count, DLPack capsules, names of reductions."""
