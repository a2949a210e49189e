"""Which iterations have a norm."""

SHOW_EVERY = 100  # iterations from one norm that NVIDIA's sample prints to the next


def checked(iteration: int, nccheck: int, show: bool) -> bool:
    """Whether the norm of this iteration is computed.  show: whether norms are printed as NVIDIA's sample does"""
    return iteration % nccheck == 0 or (show and iteration % SHOW_EVERY == 0)
