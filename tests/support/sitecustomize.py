"""Python imports this at the start of every program that ``launch`` runs: a line leaves a rank in one write.

PYTHONUNBUFFERED would write each argument of ``print`` by itself, and lines of two ranks would mix.
"""

import sys

sys.stdout.reconfigure(line_buffering=True)
