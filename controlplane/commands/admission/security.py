"""What of security between nodes may be asked of a cluster by how far it is between plaintext and TLS. Pure."""

from collections.abc import Iterator

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from events.spec import problems as p
from events.spec.model import KafkaClusterDocument
from events.spec.positions import Positions
from events.spec.problems import Path, Problem
from events.spec.security_change_rules import PLAINTEXT
from planner.rollout.security_steps import LAST

_INTERNAL: Path = ("spec", "security", "internal")
_LISTENERS: Path = ("spec", "listeners")


def security_admission(view: ClusterView, document: KafkaClusterDocument, positions: Positions) -> Iterator[Problem]:
    """What refuses it by what the cluster is doing, beside what the rules say of the two specs."""
    declared, asked = view.document, document.spec.security.internal
    if declared is None:
        return
    is_between = view.settings.security is not None and not view.security.is_over
    if asked == "plaintext" and declared.spec.security.internal == "tls" and view.security.low == LAST:
        message = "nodes speak TLS alone: there is no way back to plaintext between them any more"
        fix = "Write `tls`. Clients may have a listener in plaintext all the same, if they have to."
        yield positions.problem(p.NO_WAY_BACK, _INTERNAL, message, fix)
    if asked == "tls" and is_between and not any(one.name == PLAINTEXT for one in document.spec.listeners):
        message = f"the cluster is on its way to TLS, and brokers know one another by the listener `{PLAINTEXT}`"
        fix = "Keep it until the way is over (`kedge describe`), then remove it."
        yield positions.problem(p.SECURITY_WAY, _LISTENERS, message, fix)
    begins = asked == "tls" and declared.spec.security.internal == "plaintext" and not is_between
    if begins and (why := _not_ready(view)):
        fix = "Wait for that (`kedge describe`), then apply this spec again."
        yield positions.problem(p.SECURITY_WAY, _INTERNAL, f"the way to TLS cannot begin now: {why}", fix)


def _not_ready(view: ClusterView) -> str:
    """What else is in hand; "" where it may begin."""
    if view.quorum.founding is None or not view.roll.converged:
        return "the cluster has not been founded yet"
    if view.quorum.migration is not None:
        return "it migrates to KRaft"
    hosted = next((i for i in view.alive() if i.hosted or i.planned.member is not None), None)
    if hosted is not None:
        return f"a ZooKeeper server shares the VM of {hosted.key}"
    waiting = next((i for i in view.alive() if not i.is_broker and (i.lost or i.phase is not Phase.JOINED)), None)
    if waiting is not None:
        return f"{waiting.key} is {'lost' if waiting.lost else waiting.phase}"
    if view.quorum.change is not None:
        return "the voters of the quorum are being changed"
    return ""
