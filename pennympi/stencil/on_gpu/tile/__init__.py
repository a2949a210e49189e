"""All sweeps of two dimensions in one launch: a block keeps a tile in registers."""
