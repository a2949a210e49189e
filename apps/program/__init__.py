"""What the programs of all applications need: options, exit statuses, device arrays, NCCL."""
