"""The program that a command runs: a file, or -m and a module; then its arguments."""

import argparse
import os
import runpy
import sys
from pathlib import Path


def problem(args: argparse.Namespace) -> str:
    """What is wrong with arguments that are right one by one, in a sentence, or "" ."""
    first, *others = args.program or [""]
    if first == "-m" and others or Path(first).is_file():
        return ""
    return f"program {first!r} is no file: give a file, or -m and a module"


def execute(program: list[str]) -> None:
    """Run a file, or -m and a module, with its arguments."""
    is_module = program[0] == "-m"
    sys.argv = program[is_module:]
    if is_module:
        sys.path.insert(0, os.getcwd())
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, str(Path(sys.argv[0]).resolve().parent))
        runpy.run_path(sys.argv[0], run_name="__main__")
