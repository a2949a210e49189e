"""Print a table of nodes, devices, links, NICs and rails."""

import argparse
import json

from ..topology.facts import table
from .exit_status import show, started

HELP = "a table of nodes, devices, links, NICs and rails"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "--topology", help="N-nodes-of-M (two-nodes-of-eight) or a TOML file, instead of PENNYMPI_TOPOLOGY"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, with the rings of multi_ring")


def run(args: argparse.Namespace) -> int:
    """Print on PE 0.  Collective.  Raises Ended for a topology that does not fit."""
    with started(topology=args.topology) as team:
        facts = team.topology()
        show(json.dumps(facts, indent=1) if args.json else table(facts))
    return 0
