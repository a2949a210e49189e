"""Parts of any length, by messages with signals and by packets, for AllGatherv, ReduceScatterv and all-to-allv."""
