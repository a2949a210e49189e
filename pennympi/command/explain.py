"""Print which AllReduce algorithm runs for a size, and why, with measured and predicted times of all algorithms."""

import argparse

from ..arrays.dtypes import TABLE as DTYPES
from ..arrays.operators import NAMES as OPS
from ..errors import Unsupported
from .arguments import size
from .exit_status import WRONG_USE, Ended, show, started

HELP = "which AllReduce algorithm runs for a size, and why"
SIZES = [1 << 20]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    text = "sizes of the vector, in bytes, or as 64K (default: 1M)"
    add("sizes", nargs="*", type=size(0), default=SIZES, metavar="SIZE", help=text)
    text = f"dtype of the elements: {', '.join(DTYPES)} (default: %(default)s)"
    add("-d", "--datatype", choices=DTYPES, default="float32", metavar="DTYPE", help=text)
    text = f"reduction: {', '.join(OPS)} (default: %(default)s)"
    add("-o", "--op", choices=OPS, default="sum", metavar="OP", help=text)


def run(args: argparse.Namespace) -> int:
    """Print on PE 0.  Collective.  Raises Ended."""
    with started() as team:
        try:
            lines = [str(team.explain(nbytes, args.datatype, args.op)) for nbytes in args.sizes]
        except (ValueError, Unsupported) as error:
            raise Ended(str(error), WRONG_USE) from None
        show("\n".join(lines))
    return 0
