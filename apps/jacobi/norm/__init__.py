"""The norm of the change of a sweep: the same bits for any number of PEs."""
