"""What the lanes of a warp do for a sweep: loads and stores, numbers of other lanes, norms."""
