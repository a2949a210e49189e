"""The job: its processes, how they meet, how they show that they are alive, and how they end."""
