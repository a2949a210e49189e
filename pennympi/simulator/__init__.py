"""A team of simulated PEs in one process: unchanged kernels in plain Python, under a scheduler that seeks their faults.

Programs, warps, and what is under way between PEs are actors, of which a seeded scheduler runs one at a time: one seed is
one schedule, and a deadlock is seen at once.
"""
