"""The command line: its options, their validation, and what they start."""
