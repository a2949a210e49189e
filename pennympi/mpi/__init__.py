"""mpi4py's communicator over this library: programs that are written for mpi4py run on a team."""
