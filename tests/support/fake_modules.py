"""Modules that replace missing ones during a test, and modules of ``pennympi.cuda`` that are imported with them."""

import importlib
import sys
from contextlib import contextmanager


@contextmanager
def imported_over(fakes, *names):
    """The last of some modules of pennympi.cuda, imported with ``fakes`` ({name: module}) in place of other modules."""
    replaced = (*fakes, *(f"pennympi.cuda.{name}" for name in names))
    saved = {name: sys.modules.pop(name, None) for name in replaced}
    sys.modules.update(fakes)
    try:
        yield importlib.import_module(replaced[-1])
    finally:
        for name, module in saved.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module
