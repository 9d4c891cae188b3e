"""What policies say to a change, in words people can act on."""

from dataclasses import dataclass
from typing import Literal

from events.spec.positions import Positions
from events.spec.problems import Path, Problem, ProblemKind

POLICY = ProblemKind("KEDGE-POLICY-001", "refused by a policy", "The policies of this installation say what may run.")


@dataclass(frozen=True, slots=True)
class Refusal:
    """One limit that is passed: where in the document, and why. `subject`: the topic or user, "" for the cluster."""

    policy: str
    path: Path
    message: str
    fix: str
    subject: str = ""

    def problem(self, positions: Positions) -> Problem:
        """The same at its line."""
        return positions.problem(POLICY, self.path, f"{self.message} (policy `{self.policy}`)", self.fix)


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a second person has to say yes."""

    policy: str
    what: str

    def __str__(self) -> str:
        return f"{self.what} (policy `{self.policy}`)"


@dataclass(frozen=True, slots=True)
class PolicyDecision:
    """Refused beats reserved, reserved beats allowed."""

    refusals: tuple[Refusal, ...] = ()
    reasons: tuple[Reason, ...] = ()

    @property
    def word(self) -> Literal["allowed", "refused", "reserved"]:
        if self.refusals:
            return "refused"
        return "reserved" if self.reasons else "allowed"

    def beside(self, other: "PolicyDecision") -> "PolicyDecision":
        """Both together."""
        return PolicyDecision((*self.refusals, *other.refusals), (*self.reasons, *other.reasons))


ALLOWED = PolicyDecision()
