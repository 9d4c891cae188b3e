"""How the CLI says that an answer is of the past."""

from controlplane.api.schemas.past import PastOut
from controlplane.runtime.quantities import moment


def past_words(past: PastOut) -> str:
    """A line above what is told."""
    return f"as it was at position {past.position} of the log, {moment(past.at)}; placement: {past.placement}"
