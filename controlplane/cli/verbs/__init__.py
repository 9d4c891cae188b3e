"""One file for each kind of verb; every function is a command and does no more than put the parts together."""
