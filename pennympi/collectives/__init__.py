"""The host side of the collectives: the checks of a call, and its launch."""
