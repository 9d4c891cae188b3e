"""Who is to be started anew for its certificate: since that is old, or since its node has to believe, or show, another
CA. Pure.

What a node runs with is known by its agent alone: by the files its process was started with, and by what its listeners
show. Who has said nothing is neither at a phase nor behind it.
"""

import hashlib
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from agent.wire import CertificateReport
from controlplane.cluster.believed_authorities import believed, certificates_of
from controlplane.cluster.lifecycle import SERVING, Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.certificates import AuthorityPhase, AuthorityReplacementView, CertificateView
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.questions.services.service_reports import start_id
from controlplane.converger.situation.situation import Situation
from controlplane.runtime.once import once

AGAIN = timedelta(days=1)
"""Between two rounds of restarts for age: a start that brought no other certificate is not asked for all the time."""
MOST_ROUNDS = 3
"""Of restarts a phase of a CA replacement asks for: who is still behind then is a person's."""
LEAVES = (Phase.FENCING, Phase.FENCED, Phase.RELEASED, Phase.RETIRING, Phase.RETIRED)
"""They show nobody a certificate any more, and believe nobody."""


@dataclass(frozen=True, slots=True)
class OldCertificates:
    """Services to be started anew since their certificates are old, by key; the first of these ends at `first`."""

    keys: tuple[str, ...]
    first: datetime
    at_once: bool


def old_certificates(situation: Situation) -> OldCertificates | None:
    """None while nobody is due. Who is nearly due goes along: one round for all, not one for each day of births."""
    view, now = situation.view, situation.now
    joined = {i.key for i in view.alive() if i.phase is Phase.JOINED} - view.vms.revoked.keys()
    held = {key: one for key, one in shown_certificates(situation).items() if key in joined}
    if not any(now >= one.due_at for one in held.values()):
        return None
    due = {key: one for key, one in held.items() if now >= one.due_at - one.life / 12}
    keys = tuple(sorted(due, key=lambda key: (due[key].until, key)))
    return OldCertificates(keys, due[keys[0]].until, any(now >= one.urgent_at for one in due.values()))


@once
def shown_certificates(situation: Situation) -> Mapping[str, CertificateView]:
    """What services show, by key: the last one that was signed for each, but for one that was started with what it had
    before, as its agent says."""
    view = situation.view
    found: dict[str, CertificateView] = {}
    for instance in view.alive():
        issued = view.vms.certificates.get(instance.key)
        if issued is None or instance.lost or instance.phase not in SERVING:
            continue
        report = situation.seen.background.certificates.get(instance.key)
        seen = report.certificate if report is not None and report.state == "running" else None
        is_another = seen is not None and seen.serial != issued.serial
        other = CertificateView(seen.serial, seen.until - issued.life, seen.until) if seen and is_another else issued
        found[instance.key] = other
    return found


class AtPhase(StrEnum):
    """Whether a node runs with what the phase in hand wants of it."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"
    """Its agent has not said it of this very start, is not heard any more, or its listener was not seen to show it."""


@dataclass(frozen=True, slots=True)
class PhaseProgress:
    """Nodes by whether they are at the phase in hand, by key."""

    there: tuple[str, ...]
    behind: tuple[str, ...]
    unknown: tuple[str, ...]

    @property
    def is_reached(self) -> bool:
        return bool(self.there) and not self.behind and not self.unknown


@once
def phase_progress(situation: Situation) -> PhaseProgress:
    """Of all nodes that show, or soon show, others a certificate."""
    view = situation.view
    concerned = [i for i in view.alive() if i.phase not in LEAVES and not i.lost and is_concerned(view, i)]
    found = {i.key: at_phase(situation, i) for i in concerned if i.phase is not Phase.REQUESTED}
    there, behind, unknown = (tuple(sorted(k for k, v in found.items() if v is one)) for one in AtPhase)
    return PhaseProgress(there, behind, unknown)


def is_concerned(view: ClusterView, instance: InstanceView) -> bool:
    """Users are recognised by brokers alone; controllers have no listener for them."""
    change = view.vms.authority_change
    return change is not None and (change.kind == "cluster" or instance.is_broker)


def at_phase(situation: Situation, instance: InstanceView) -> AtPhase:
    """By the last word of its agent of the start that was asked for last."""
    report = situation.seen.background.certificates.get(instance.key)
    if report is None or report.certificate is None or instance.key in situation.view.vms.revoked:
        return AtPhase.UNKNOWN
    if report.state != "running" or report.start_id != start_id(instance):
        return AtPhase.UNKNOWN
    if not has_what_is_wanted(situation.view, report.certificate):
        return AtPhase.NO
    return AtPhase.YES if shows_it(report.certificate) else AtPhase.UNKNOWN


def has_what_is_wanted(view: ClusterView, seen: CertificateReport) -> bool:
    """Whether it was started with the certificate, and with the trust, that nodes get now."""
    change = view.vms.authority_change
    nodes, users = believed(view, "cluster"), believed(view, "clients")
    if nodes is None or users is None or (change is not None and is_to_be_made(change)):
        return False
    wanted = (fingerprint(nodes.signer), {fingerprint(pem) for pem in nodes.roots})
    if (seen.issuer, set(seen.believes)) != wanted:
        return False
    return set(seen.clients) == {fingerprint(pem) for pem in users.roots}


def is_to_be_made(change: AuthorityReplacementView) -> bool:
    """Whether its CA is made with the next certificate that a node asks for."""
    return not change.certificate and change.phase is not AuthorityPhase.OLD_ALONE


def shows_it(seen: CertificateReport) -> bool:
    """Whether the listener for other nodes, which is looked at first, was seen to show the certificate of its file."""
    return bool(seen.served) and seen.served[0].serial == seen.serial


def fingerprint(pem: str) -> str:
    """As agents name a CA: the first 16 hex digits of the SHA-256 of its DER; of a chain that of the first."""
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(certificates_of(pem)[0].strip())).hexdigest()[:16]
