"""All sweeps of a grid of two dimensions in one launch: a block keeps a tile in registers."""
