"""The table of variants: one file for each way to run a round of iterations.  Read stream.py first."""

from .graph import Graph
from .persistent import Persistent
from .stream import Stream

TABLE = {"stream": Stream, "graph": Graph, "persistent": Persistent}
