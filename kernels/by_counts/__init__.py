"""Parts of any length: what AllGatherv, ReduceScatterv and all-to-allv share, by messages with signals and by packets."""
