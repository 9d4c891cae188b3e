"""What one request may ask of a group. By itself, because a client that only checks it needs nothing of a server."""

MOST_OFFSETS = 5_000
"""Partitions of one reset: it is one event."""
