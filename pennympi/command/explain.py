"""Print which AllReduce algorithm runs for a size and why, or the cost model's predictions for larger machines."""

import argparse

from mpi4py import MPI

from ..arrays.dtypes import TABLE as DTYPES
from ..arrays.dtypes import dtype_of
from ..arrays.operators import NAMES as OPS
from ..errors import Unsupported
from . import predictions
from .arguments import listed, names, size, whole
from .ended import WRONG_USE, Ended, started, tell

HELP = "which AllReduce algorithm runs for a size, and why"
SIZES = [1 << k for k in range(10, 31, 4)]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("sizes", nargs="*", type=size(0), metavar="SIZE", help="sizes, such as 64K (1K to 1G)")
    add("-d", "--datatype", type=names(DTYPES, "dtype", also_all=False), default=["float32"], help="a dtype (float32)")
    add("-o", "--op", choices=OPS, default="sum", help="a reduction (%(default)s)")
    add("--predict", action="store_true", help="for nodes of 8 GPUs with NVLink and a rail of 400 Gb/s for each GPU")
    add("--gpus", type=listed(whole(1, 1 << 16)), metavar="LIST", help="for --predict (16 to 1024)")


def problem(args: argparse.Namespace) -> str:
    """What is wrong with arguments that are right one by one, in a sentence, or "" ."""
    if args.gpus and not args.predict:
        return "--gpus is for --predict: give both, or neither"
    if len(args.datatype) > 1:
        return "-d takes one dtype"
    try:
        if args.predict:
            lines(args)
    except (ValueError, Unsupported) as error:
        return str(error)
    return ""


def lines(args: argparse.Namespace) -> list[str]:
    """The predictions.  Raises ValueError for GPUs that do not fill their nodes."""
    return predictions.table(args.gpus or predictions.GPUS, args.sizes or SIZES, dtype_of(args.datatype[0]), args.op)


def run(args: argparse.Namespace) -> int:
    """Print on PE 0.  Collective.  Raises Ended."""
    if args.predict:
        if MPI.COMM_WORLD.rank == 0:
            tell("\n".join(lines(args)))
        return 0
    with started() as team:
        try:
            told = [str(team.explain(nbytes, args.datatype[0], args.op)) for nbytes in args.sizes or SIZES]
        except (ValueError, Unsupported) as error:
            raise Ended(str(error), WRONG_USE) from None
        if team.me == 0:
            tell("\n".join(told))
    return 0
