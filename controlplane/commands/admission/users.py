"""May these users come into force in that cluster? Asked by `plan` and by `apply`, so both give one answer."""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime

from controlplane.cluster.believed_authorities import authority_digits, believed_somewhere
from controlplane.cluster.view import ClusterView
from controlplane.commands.user_declaration import user_declaration_of
from events.spec import problems as p
from events.spec.model import KafkaClusterDocument
from events.spec.positions import Positions
from events.spec.problems import Problem
from events.spec.user_model import KafkaUserDocument
from events.spec.user_rules import check_user_change, check_user_in


def user_problems(
    view: ClusterView,
    cluster: KafkaClusterDocument | None,
    users: Sequence[tuple[KafkaUserDocument, Positions]],
    now: datetime,
    sinks: Collection[str] | None = None,
) -> list[Problem]:
    """What refuses these users in that cluster, warnings too. `cluster` is the document in force, or about to be.
    `sinks`: those the settings have for passwords, None where nobody knows them."""
    if cluster is None:
        return [_homeless(document, where) for document, where in users]
    found: list[Problem] = []
    for document, where in users:
        found += check_user_in(document, cluster, positions=where)
        before = view.users.by_name.get(document.user)
        if before is not None:
            found += check_user_change(document, type_before=before.declared.authentication, positions=where)
        found += _earlier_certificates(view, document, where, now)
        found += _sink(document, where, sinks)
    return found


def is_declared(view: ClusterView, document: KafkaUserDocument) -> bool:
    """Whether it is declared like this already, wherever from; of a user that no file declares any more nothing is."""
    known = view.users.by_name.get(document.user)
    return known is not None and not known.undeclared and known.declared == user_declaration_of(document)


def _end_of_earlier(view: ClusterView, user: str) -> datetime | None:
    """When the last certificate of a deleted user of this name ends, by a CA that a broker recognises users by. None
    where there is none."""
    ends = view.users.signed.get(user, {}) if user in view.users.deleted else {}
    known = (authority_digits(pem) for pem in believed_somewhere(view, "clients"))
    return max((ends[ca] for ca in known if ca in ends), default=None)


def _earlier_certificates(
    view: ClusterView, document: KafkaUserDocument, where: Positions, now: datetime
) -> Iterator[Problem]:
    """A certificate is of a name, whoever that is by now: Kafka revokes none."""
    end = _end_of_earlier(view, document.user)
    if end is None or end <= now or document.spec.authentication.earlier_certificates == "accept":
        return
    message = (
        f"a user `{document.user}` was deleted, and its certificates count until {end.date()}: Kafka asks no "
        "revocation list, and would let in whoever has one as this user"
    )
    fix = (
        f"Use another name, or wait until then, or have them end at once: kedge replace-ca {view.name} --clients. If "
        "whoever has one may come in, write `earlierCertificates: accept` beside `type`."
    )
    yield where.problem(p.EARLIER_CERTIFICATES, ("metadata", "name"), message, fix)


def _sink(document: KafkaUserDocument, where: Positions, sinks: Collection[str] | None) -> Iterator[Problem]:
    wanted = document.spec.authentication.deliver_to
    if wanted is None or sinks is None or wanted in sinks:
        return
    message = f"this server's settings have no sink `{wanted}` for the password of `{document.user}`"
    known = f"Write one of: {', '.join(sorted(sinks))}; or" if sinks else "Leave it out, or"
    fix = f"{known} add `{wanted}` to [kafka.password_sinks] and start the server anew."
    yield where.problem(p.NO_SINK, ("spec", "authentication", "deliverTo"), message, fix)


def _homeless(document: KafkaUserDocument, where: Positions) -> Problem:
    message = f"there is no cluster `{document.spec.cluster}`"
    fix = "Correct the name, or declare the cluster first."
    return where.problem(p.USER_HOME, ("spec", "cluster"), message, fix)
