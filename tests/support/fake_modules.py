"""Modules that are not there, and modules of ``pennympi.cuda`` that are imported anew over them, while a test lasts."""

import importlib
import sys
from contextlib import contextmanager


@contextmanager
def imported_over(fakes, *names):
    """The last of some modules of pennympi.cuda, over ``fakes`` in place of other modules, by their names."""
    every = (*fakes, *(f"pennympi.cuda.{name}" for name in names))
    saved = {name: sys.modules.pop(name, None) for name in every}
    sys.modules.update(fakes)
    try:
        yield importlib.import_module(every[-1])
    finally:
        for name, module in saved.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module
