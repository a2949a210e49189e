"""The job: its processes, their meetings, their signs of life, and their end."""
