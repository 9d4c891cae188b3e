"""What was judged while one request was served, in order: the audit takes verb, object and outcome from it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RightsJudgement:
    """One judgement. `what` names the thing in words."""

    verb: str
    what: str
    allowed: bool


class Trail:
    """Of one request. It is served in one thread at a time."""

    def __init__(self) -> None:
        self._judged: list[RightsJudgement] = []
        self.event_position: int | None = None
        """Of the event log once the request's command was recorded: its events are at or before it."""
        self.who = ""
        """Whom a sign-in turned out to be."""
        self.note = ""
        """What was given, made or taken, in words, where path and verb do not say it."""
        self.refused = ""
        """Why what was asked for was not done, in short, where the answer is no error; no word of a spec."""
        self.digest = ""
        """Of the whole request (`controlplane.api.request_identity`); "" of one that changes nothing."""

    def judged(self, verb: str, what: str, *, allowed: bool) -> None:
        """Notes a judgement."""
        self._judged.append(RightsJudgement(verb, what, allowed))

    @property
    def decisive(self) -> RightsJudgement | None:
        """What the audit tells: the refusal, else the last that was allowed. None where nothing was judged."""
        refused = next((j for j in self._judged if not j.allowed), None)
        return refused or (self._judged[-1] if self._judged else None)
