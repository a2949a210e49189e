"""Memory, machine code, launches and streams on CPUs."""
