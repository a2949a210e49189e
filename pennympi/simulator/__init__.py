"""A team of simulated PEs in one process: unchanged kernels in plain Python, under a scheduler that seeks their faults.

Programs, warps, and messages between PEs are actors.  A seeded scheduler runs one actor at a time: a seed determines the
schedule, and a deadlock is detected at once.
"""
