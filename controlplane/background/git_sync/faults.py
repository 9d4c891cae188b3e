"""Why a source cannot be looked at. None of it says anything about the clusters: they stay as they are."""


class SourceFault(Exception):
    """`reason` is a stable word, `next_step` what a person can do. What now: the next poll tries again."""

    def __init__(self, reason: str, message: str, next_step: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.next_step = next_step


class Stopped(Exception):
    """The server stops, or no longer leads: what was begun is left, and repeats harmlessly."""
