"""Exchange of parts of any length, by messages or by packets, for AllGatherv, ReduceScatterv and all-to-allv."""
