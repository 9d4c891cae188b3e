"""What a ZooKeeper ensemble keeps itself, and is put right at the end of a step between plaintext and TLS: whether its
membership says where servers listen in plaintext, and whose its nodes are. Pure.

It is put right whenever it is seen to be otherwise, so it goes on where a server died in it. Whose the nodes are is
noted beside them with the very step it was done for, as brokers make new ones while the step is in hand: what was done
for an earlier one counts for nothing.
"""

from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.security import SecurityView
from controlplane.cluster.wait_reasons import WaitReason
from controlplane.converger.situation.decision import Decision, act, wait
from controlplane.converger.situation.effects import PutEnsembleContent
from controlplane.converger.situation.situation import Situation
from controlplane.kafka.zookeeper.content import EnsembleContent
from controlplane.storage.certificates.principals import principals_of

_SENTENCES = {
    ("membership", True): "taking the ports in plaintext out of the ensemble's membership",
    ("membership", False): "putting the ports in plaintext back into the ensemble's membership",
    ("owners", True): "making what brokers keep in ZooKeeper the nodes' own",
    ("owners", False): "letting everybody change again what brokers keep in ZooKeeper",
}
_PATIENCE_S = 120.0


def content_wanted(view: ClusterView) -> EnsembleContent | None:
    """What it is to keep at the end of the step in hand; None where nothing of it changes then."""
    security = view.settings.security
    step = security.step if security is not None else None
    if security is None or step is None or not step.puts or not view.in_zookeeper_mode:
        return None
    owner = principals_of(view.uid).node
    mark = f"{step.name} {security.since.isoformat() if security.since else ''}"
    return EnsembleContent(step.puts, not security.is_undone, f"CN={owner}", mark)


def content_left(situation: Situation, security: SecurityView) -> Decision | None:
    """Puts it right; None once it is. Asked once all services have made the step."""
    wanted = content_wanted(situation.view)
    if wanted is None:
        return None
    is_so = situation.seen.zookeeper.content_is_right
    if is_so is None:
        why = situation.seen.missing.get("ensemble", "ZooKeeper is asked next")
        return wait(WaitReason.SECURITY_STEP, f"{_name(security)}: {why}", patience_s=_PATIENCE_S)
    if is_so:
        return None
    return act(f"{_name(security)}: {_SENTENCES[wanted.part, wanted.is_secure]}", PutEnsembleContent(wanted))


def _name(security: SecurityView) -> str:
    return security.step.name if security.step is not None else ""
