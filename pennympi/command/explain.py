"""Print which AllReduce algorithm runs for a size and why, with the times of all: as measured, and by the cost model."""

import argparse

from ..arrays.dtypes import TABLE as DTYPES
from ..arrays.operators import NAMES as OPS
from ..errors import Unsupported
from .arguments import size
from .exit_status import WRONG_USE, Ended, show, started

HELP = "which AllReduce algorithm runs for a size, and why"
SIZES = [1 << k for k in range(10, 31, 4)]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("sizes", nargs="*", type=size(0), default=SIZES, metavar="SIZE", help="sizes, such as 64K (1K to 1G)")
    add("-d", "--datatype", choices=DTYPES, default="float32", help="a dtype (%(default)s)")
    add("-o", "--op", choices=OPS, default="sum", help="a reduction (%(default)s)")


def run(args: argparse.Namespace) -> int:
    """Print on PE 0.  Collective.  Raises Ended."""
    with started() as team:
        try:
            lines = [str(team.explain(nbytes, args.datatype, args.op)) for nbytes in args.sizes]
        except (ValueError, Unsupported) as error:
            raise Ended(str(error), WRONG_USE) from None
        show("\n".join(lines))
    return 0
