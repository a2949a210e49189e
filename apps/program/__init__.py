"""What the programs of all applications need: options, messages, exit statuses, whole files, signals, device arrays."""
