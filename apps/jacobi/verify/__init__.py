"""Reference solutions, oracles, and the checks that compare a result with them."""
