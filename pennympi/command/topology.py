"""Draw nodes, devices, links, NICs, rails, and the rings of multi_ring on them."""

import argparse
import json
import sys

from mpi4py import MPI

from .. import init
from ..errors import TopologyError
from ..topology.draw import draw

HELP = "draw nodes, devices, links, NICs, rails and rings"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "--topology", help="N-nodes-of-M (two-nodes-of-eight) or a TOML file, instead of PENNYMPI_TOPOLOGY"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a drawing")


def run(args: argparse.Namespace) -> int:
    """Print on PE 0.  Collective.  Returns 2 for a topology that does not fit."""
    try:
        team = init(topology=args.topology)
    except TopologyError as error:
        if MPI.COMM_WORLD.rank == 0:
            print(f"error: {error}", file=sys.stderr)
        return 2
    with team:
        facts = team.topology()
        if team.me == 0:
            print(json.dumps(facts, indent=1) if args.json else draw(facts), flush=True)
    return 0
