"""What the second check finds wrong with a plan."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Violation:
    """`rule` that is broken, of whom, and the figures that show it."""

    rule: str
    subject: str
    detail: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.subject}: {self.detail}"
