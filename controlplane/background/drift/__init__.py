"""Finds what was changed by hand in the clouds: a slow audit of each state, apart from the ticks."""
