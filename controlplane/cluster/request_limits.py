"""What one request may ask for. By itself, because a client that only checks it needs nothing of a server."""

MOST_OFFSETS = 5_000
"""Partitions of one reset: it is one event."""
