"""Print a table of nodes, devices, links, NICs and rails."""

import argparse
import json

from ..topology.facts import table
from .exit_status import show, started

HELP = "a table of nodes, devices, links, NICs and rails"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    text = "nodes that algorithms see, such as two-nodes-of-eight, or a TOML file (default: PENNYMPI_TOPOLOGY)"
    parser.add_argument("--topology", metavar="NAME", help=text)
    text = "print JSON, with the rings of multi_ring (default: a table)"
    parser.add_argument("--json", action="store_true", help=text)


def run(args: argparse.Namespace) -> int:
    """Print on PE 0.  Collective.  Raises Ended for a topology that does not fit."""
    with started(topology=args.topology) as team:
        facts = team.topology()
        show(json.dumps(facts, indent=1) if args.json else table(facts))
    return 0
