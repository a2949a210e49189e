"""Which iterations have a norm."""

SHOW_EVERY = 100  # iterations from one norm that NVIDIA's sample prints to the next


def shown(iteration: int, nccheck: int) -> bool:
    """Whether the norm of this iteration is printed: as NVIDIA's sample does, but no oftener than every ``nccheck``."""
    return iteration % max(nccheck, SHOW_EVERY) == 0


def checked(iteration: int, nccheck: int, show: bool) -> bool:
    """Whether the norm of this iteration is computed.  show: whether norms are printed"""
    return iteration % nccheck == 0 or (show and shown(iteration, nccheck))
