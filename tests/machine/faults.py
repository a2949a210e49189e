"""What the machine finds."""


class Fault(Exception):
    """A kernel did what it must not do: a wrong result, a late access, an address outside its object."""


class Deadlock(Fault):
    """No block can run, no message is under way, and a launch is not over."""
