"""The code that the programs share: options, exit statuses, progress, device arrays, NCCL."""
