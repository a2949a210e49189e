"""The command line: its options, their validation, the dry run and the run."""
