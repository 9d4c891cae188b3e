"""What declaring users would do, in a line each, as `kedge plan` shows it, and the digest that pins it. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict

from controlplane.cluster.commands import DeclareUsers
from controlplane.cluster.view import ClusterView
from controlplane.commands.previews.kept import kept_digest, pairs, refuse_moved
from controlplane.commands.user_declaration import user_declaration_of
from events.spec.model import KafkaClusterDocument
from events.spec.user_model import KafkaUserDocument
from events.user_facts import AclBinding, UserDeclaration


def user_lines(
    view: ClusterView, cluster: KafkaClusterDocument, documents: Sequence[KafkaUserDocument]
) -> tuple[str, ...]:
    """`+ user` for a new one, `~ user: what changes`; nothing for one that stays as it is."""
    lines = []
    for document in documents:
        wanted, known = user_declaration_of(document), view.users.by_name.get(document.user)
        if known is None:
            parts = [wanted.authentication, *([f"password to {wanted.deliver_to}"] if wanted.deliver_to else [])]
            parts += [*(acl_words(acl) for acl in wanted.acls)]
            parts += [f"{key} {value}" for key, value in sorted(_quotas(wanted).items())]
            lines.append(f"+ user {cluster.metadata.name}/{wanted.name}: {'; '.join(parts)}")
        elif changes := user_changes(known.declared, wanted):
            lines.append(f"~ user {cluster.metadata.name}/{wanted.name}: {'; '.join(changes)}")
    return tuple(lines)


def users_digest(view: ClusterView, cluster: KafkaClusterDocument, documents: Sequence[KafkaUserDocument]) -> str:
    """Pins what declaring them means, and what it goes on from."""
    wanted = [asdict(user_declaration_of(document)) for document in documents]
    known = [view.users.by_name.get(document.user) for document in documents]
    in_force = [u and [asdict(u.declared), u.source, u.undeclared, u.tombstone] for u in known]
    return kept_digest(wanted, in_force)


def refuse_moved_users(view: ClusterView, command: DeclareUsers) -> None:
    """Raises CommandRefused where they are to be declared only as they were shown, and that has moved."""
    if command.plan_digest is None or view.document is None:
        return
    now = users_digest(view, view.document, [one.document for one in command.users])
    refuse_moved(command.name, "users", command.plan_digest, now)


def user_changes(before: UserDeclaration, after: UserDeclaration) -> list[str]:
    """What differs: `+ Read of topic pay-*`, `producer_byte_rate 100 -> 200`."""
    changes = [f"+ {acl_words(acl)}" for acl in _only(after.acls, before.acls)]
    changes += [f"- {acl_words(acl)}" for acl in _only(before.acls, after.acls)]
    old_quotas, new_quotas = _quotas(before), _quotas(after)
    changes += [
        f"{key} {old_quotas.get(key, 'none')} -> {new_quotas.get(key, 'none')}"
        for key in sorted({*old_quotas, *new_quotas})
        if old_quotas.get(key) != new_quotas.get(key)
    ]
    for words, old, new in (
        ("authentication", before.authentication, after.authentication),
        ("tier", before.tier or "-", after.tier or "-"),
        ("password to", before.deliver_to or "-", after.deliver_to or "-"),
        ("owner", before.owner or "-", after.owner or "-"),
        ("labels", pairs(before.labels), pairs(after.labels)),
    ):
        if old != new:
            changes.append(f"{words} {old} -> {new}")
    return changes


def _quotas(declared: UserDeclaration) -> dict[str, int]:
    """All it says, as in `producer_byte_rate`, `producer_byte_rate with client app`."""
    found = dict(declared.quotas)
    for client, values in declared.client_quotas.items():
        found |= {f"{key} with {f'client {client}' if client else 'any other client'}": v for key, v in values.items()}
    return found


def acl_words(acl: AclBinding) -> str:
    """`Read of topic pay-* from 10.0.0.7`."""
    name = f"{acl.name}*" if acl.pattern == "prefix" else acl.name
    where = "" if acl.host == "*" else f" from {acl.host}"
    return f"{'no ' * acl.is_deny}{acl.operation} of {acl.type} {name}{where}"


def _only(acls: Iterable[AclBinding], others: Iterable[AclBinding]) -> list[AclBinding]:
    return sorted(set(acls) - set(others))
