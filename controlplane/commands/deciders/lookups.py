"""What a decision may look up beside the view, and the refusals that come of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from controlplane.cluster import commands
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.view import ClusterView
from controlplane.commands.admission.judge import Judgement, SpecJudge
from controlplane.commands.policies.decision import PolicyDecision
from events.clock import Clock, utc_now
from events.envelope import Recorded
from events.spec.positions import NOWHERE
from planner.observed import KafkaSnapshot

Approvable = (
    commands.DeclareCluster
    | commands.DeclareTopics
    | commands.DeleteCluster
    | commands.DeleteTopic
    | commands.DeclareUsers
    | commands.RebalanceCluster
)
"""What a policy may leave to a second person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookups:
    """As the handler gives them. A page that asks what would come of a command gives what it has: without policies and
    without a freeze it is told what would be recorded, and shows those beside it.

    `kafka`: the metadata read last, None before the first look. `events`: what is recorded of the cluster. `reports`:
    the last ones of its agents, by instance key. `frozen` has words for the freeze it is in, "" where it is in none;
    `paired` the name of the failover it is of, likewise.
    """

    kafka: KafkaSnapshot | None = None
    events: Sequence[Recorded] = ()
    reports: Callable[[], Mapping[str, ReportSeen]] = dict
    frozen: Callable[[ClusterView], str] = lambda view: ""
    paired: Callable[[ClusterView], str] = lambda view: ""
    judge: SpecJudge = field(default_factory=SpecJudge)
    now: Clock = utc_now


NOTHING = Lookups()
"""For decisions that are made from the view and the command alone."""


def refuse_frozen(view: ClusterView, known: Lookups, way: str) -> None:
    """What people ask for at once, and would not be welcome now, is refused: it cannot wait as a roll does."""
    words = known.frozen(view)
    if words:
        raise commands.CommandRefused("frozen", f"{view.name} is {words}", way)


def refuse_errors(judged: Judgement) -> None:
    """Raises SpecRefused with all that refuses it."""
    if judged.errors:
        raise commands.SpecRefused(judged.errors)


def refuse_unagreed(command: Approvable, reasons: Sequence[str]) -> None:
    """Raises NeedsApproval: what is reserved waits for somebody to agree."""
    if reasons and not command.approval:
        raise commands.NeedsApproval(command.name, reasons)


def obey(verdict: PolicyDecision, command: Approvable) -> None:
    """A refusal of policies stands whoever agreed."""
    if verdict.refusals:
        raise commands.SpecRefused([refusal.problem(NOWHERE) for refusal in verdict.refusals])
    refuse_unagreed(command, [str(reason) for reason in verdict.reasons])
