"""Pairs of clusters of which one takes over from the other: what is recorded of a pair, and what follows from it."""
