"""The commands of ``python -m pennympi``: one module each, with HELP, arguments(parser) and run(args)."""
