"""What a plan did wrong, as data: which rule, where, when, with the numbers."""

from dataclasses import dataclass
from enum import StrEnum


class PlanRule(StrEnum):
    """The hard rules of a plan. ENTRY, SOURCE and UNFINISHED are what the plan file's definition itself demands."""

    TARGETS = "H1"
    RACKS = "H2"
    IN_SYNC = "H3"
    DISK = "H4"
    BANDWIDTH = "H5"
    OPEN_MOVES = "H6"
    LEADERS = "H7"
    CHECKPOINTS = "H8"
    LIVELOCK = "H9"
    ENTRY = "entry"
    SOURCE = "source"
    UNFINISHED = "unfinished"


@dataclass(frozen=True, slots=True)
class Violation:
    """`subject`: a partition (topic-partition), `broker <id>` or `checkpoint <n>`. `at_s`: seconds into the plan."""

    rule: PlanRule
    subject: str
    detail: str
    at_s: float = 0.0

    def __str__(self) -> str:
        return f"{self.rule.value} {self.subject} at {self.at_s:.0f} s: {self.detail}"
