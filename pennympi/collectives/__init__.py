"""Each collective on the host side: what a call may be, and how it is launched."""
