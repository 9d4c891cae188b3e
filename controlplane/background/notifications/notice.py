"""One thing to tell: an anomaly that became an alarm, changed, or is over; or a proposal that waits. The same JSON for
every way of telling."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from controlplane.cluster.condition_severity import Severity
from planner.anomalies.kinds import State

VERSION = 1


@dataclass(frozen=True, slots=True)
class Notice:
    """`id` is that of the event behind it: what is told twice has the same one."""

    id: str
    cluster: str
    anomaly: str
    kind: str
    subject: str
    state: str
    reason: str
    words: str
    found_at: datetime
    at: datetime
    severity: str = Severity.WARNING
    owner: str = ""
    """The cluster's owner, as its spec has it."""

    @property
    def is_over(self) -> bool:
        """Whether it tells the end of something."""
        return self.state == State.OVER

    @property
    def key(self) -> str:
        """What stays the same from the first notice of one thing to its last."""
        return f"kedge/{self.cluster}/{self.anomaly}"

    @property
    def sentence(self) -> str:
        """For people, in one line."""
        verb = "is over" if self.is_over else f"is {self.state}"
        return f"{self.cluster}: {self.kind} of {self.subject} {verb}: {self.reason}. {self.words}"

    def document(self) -> dict[str, Any]:
        """Plain values; times in ISO 8601. `text` is what chat services show of a webhook."""
        values = asdict(self)
        times = {name: values[name].isoformat() for name in ("found_at", "at")}
        return {"notice_version": VERSION, **values, **times, "text": self.sentence}
