"""The commands of ``python -m pennympi``: a module for each, with HELP, arguments(parser) and run(args)."""
