"""The topic of the audit in memory: takes entries, or fails where a test says so."""

from dataclasses import dataclass, field

from controlplane.api.audit.entry import Kept
from controlplane.api.audit.topic import AuditNotSent, Sent


@dataclass
class FakeAuditTopic:
    """`refuses` entries with these positions once each; `loses_answer` takes those and says that it did not."""

    taken: list[Kept] = field(default_factory=list)
    refuses: set[int] = field(default_factory=set)
    loses_answer: set[int] = field(default_factory=set)
    asked: int = 0

    @property
    def positions(self) -> list[int]:
        return [kept.position for kept in self.taken]

    def last(self) -> Sent | None:
        """See AuditTopic."""
        self.asked += 1
        return Sent(self.taken[-1].position, self.taken[-1].sha256) if self.taken else None

    def send(self, kept: Kept) -> None:
        """See AuditTopic."""
        if kept.position in self.refuses:
            self.refuses.discard(kept.position)
            raise AuditNotSent(f"entry {kept.position}: away")
        self.taken.append(kept)
        if kept.position in self.loses_answer:
            self.loses_answer.discard(kept.position)
            raise AuditNotSent(f"entry {kept.position}: no answer")

    def close(self) -> None:
        """See AuditTopic."""
