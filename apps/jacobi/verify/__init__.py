"""What a result is compared with."""
