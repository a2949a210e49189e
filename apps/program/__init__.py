"""What the programs of all applications need: options, exit statuses, whole files, device arrays, NCCL."""
