"""Which AllReduce algorithm runs for a size, and why; or what the cost model predicts for larger machines."""

import argparse

from .. import init
from ..arrays.dtypes import dtype_of
from ..bench import sizes
from . import predictions
from .arguments import sizes_argument

HELP = "which AllReduce algorithm runs for a size, and why"
SIZES = [1 << k for k in range(10, 31, 4)]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("sizes", nargs="*", metavar="SIZE", help="bytes, such as 64K (1K to 1G)")
    add("-d", "--datatype", default="float32", help="(%(default)s)")
    add("-o", "--op", default="sum", help="(%(default)s)")
    add("--predict", action="store_true", help="for GPUs that are not here: 8 a node, NVLink, a rail of 400 Gb/s each")
    add("--gpus", type=sizes_argument, default=predictions.GPUS, metavar="LIST", help="how many (16 to 1024)")


def run(args: argparse.Namespace) -> int:
    """Print on PE 0.  Raises ValueError or Unsupported for a size, dtype or op that is none."""
    wanted = [sizes.parse(text) for text in args.sizes] or SIZES
    if args.predict:
        from mpi4py import MPI

        if MPI.COMM_WORLD.rank == 0:
            print("\n".join(predictions.table(args.gpus, wanted, dtype_of(args.datatype), args.op)))
        return 0
    with init() as team:
        told = [str(team.explain(nbytes, args.datatype, args.op)) for nbytes in wanted]
        if team.me == 0:
            print("\n".join(told), flush=True)
    return 0
