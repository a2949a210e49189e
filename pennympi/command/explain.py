"""Print which AllReduce algorithm runs for a size and why, or the cost model's predictions for larger machines."""

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
    add("sizes", nargs="*", metavar="SIZE", help="sizes, such as 64K (1K to 1G)")
    add("-d", "--datatype", default="float32", help="a dtype (%(default)s)")
    add("-o", "--op", default="sum", help="a reduction (%(default)s)")
    add("--predict", action="store_true", help="for nodes of 8 GPUs with NVLink and a rail of 400 Gb/s for each GPU")
    add("--gpus", type=sizes_argument, default=predictions.GPUS, metavar="LIST", help="for --predict (16 to 1024)")


def run(args: argparse.Namespace) -> int:
    """Print on PE 0.  Collective.  Raises ValueError or Unsupported for a wrong size, dtype or op."""
    wanted = [sizes.parse(text) for text in args.sizes] or SIZES
    if args.predict:
        from mpi4py import MPI

        if MPI.COMM_WORLD.rank == 0:
            print("\n".join(predictions.table(args.gpus, wanted, dtype_of(args.datatype), args.op)))
        return 0
    with init() as team:
        lines = [str(team.explain(nbytes, args.datatype, args.op)) for nbytes in wanted]
        if team.me == 0:
            print("\n".join(lines), flush=True)
    return 0
