"""The norm of the residual, with the same bits on any number of PEs."""
