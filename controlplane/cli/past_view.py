"""How the CLI says that an answer is of the past."""

from controlplane.cli.quantities import moment
from controlplane.portal.schemas.past import PastOut


def past_words(past: PastOut) -> str:
    """A line above what is told."""
    return f"as it was at position {past.position} of the log, {moment(past.at)}; placement: {past.placement}"
