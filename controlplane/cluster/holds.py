"""Is the cluster held, by whom, and what lets it go on? An abort holds until a person resumes, whatever is applied."""

from dataclasses import dataclass
from datetime import datetime

from controlplane.cluster.view import ClusterView


@dataclass(frozen=True, slots=True)
class Hold:
    """Why nothing new begins, and the command that ends it."""

    sentence: str
    next_command: str


def hold_on(view: ClusterView, now: datetime) -> Hold | None:
    """The hold in force, None when the cluster may go on; a pause with an end is over by itself."""
    resume = f"kedge resume {view.name}"
    if view.requests.aborting:
        return Hold(f"aborted: {view.requests.aborting}", resume)
    if view.requests.paused and (view.requests.paused_until is None or now < view.requests.paused_until):
        return Hold(f"paused: {view.requests.paused}", resume)
    if view.document is not None and view.document.spec.rollout.pause:
        return Hold("paused: its spec says rollout.pause", "kedge apply, with rollout.pause false")
    return None
