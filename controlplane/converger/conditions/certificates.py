"""The condition `CertificateEnding`: services that have run for so long that their certificates end."""

from controlplane.cluster.lifecycle import SERVING
from controlplane.converger.situation.situation import Situation
from events import facts

CERTIFICATE_ENDING = "CertificateEnding"
_NAMED = 3


def certificate_ending(situation: Situation) -> facts.ConditionChanged | None:
    """From two thirds of a certificate's life on. A service gets another one at its next start, and by nothing else:
    Kafka's Raft channel stays with what it began with. None where no node has one."""
    view, now = situation.view, situation.now
    if not view.vms.certificates:
        return None
    shown = {i.key: view.vms.certificates.get(i.key) for i in view.alive() if i.phase in SERVING and not i.lost}
    ending = {key: one for key, one in shown.items() if one is not None and now >= one.ends_soon_at}
    if not ending:
        return facts.ConditionChanged(CERTIFICATE_ENDING, False, "Free", "")
    over = [key for key, one in ending.items() if now >= one.until]
    keys = sorted(ending, key=lambda key: (ending[key].until, key))
    named = ", ".join(f"{key} until {ending[key].until.date()}" for key in keys[:_NAMED])
    more = f" and {len(keys) - _NAMED} more" if len(keys) > _NAMED else ""
    message = (
        f"certificates of {len(keys)} services end: {named}{more}. A service gets another one when it is started anew; "
        f"past its end the others refuse it. Next: kedge restart {view.name} --rolling"
    )
    return facts.ConditionChanged(CERTIFICATE_ENDING, True, "Over" if over else "Ending", message)
