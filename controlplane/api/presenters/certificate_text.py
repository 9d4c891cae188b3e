"""Certificates of a cluster in words, for the command line and for pages. Pure."""

from datetime import datetime

from controlplane.api.schemas import certificates as api
from events.quantities import counted


def replacement_text(one: api.AuthorityReplacementOut) -> str:
    """How far it is, in a sentence."""
    what = f"the {one.kind} CA is being replaced ({one.reason}): {one.phase}"
    if one.reached:
        return f"{what}, {counted(len(one.there), 'node')} there; it waits for a person"
    parts = [(one.there, "there"), (one.behind, "to be started anew"), (one.unknown, "not known")]
    return f"{what}, {', '.join(f'{len(keys)} {word}' for keys, word in parts if keys)}"


def served_text(node: api.NodeCertificateOut) -> str:
    """What its listeners show, in a few words."""
    if node.revoked_at is not None:
        return f"revoked {day(node.revoked_at)}"
    if not node.started_with:
        return "unknown"
    if not node.served:
        return "not looked at yet"
    silent = [one.listener for one in node.served if not one.serial]
    if silent:
        return f"unknown at {', '.join(silent)}"
    other = [one for one in node.served if one.serial != node.serial]
    if not other:
        return "this one"
    until = f" until {day(other[0].until)}" if other[0].until else ""
    return f"another one at {', '.join(one.listener for one in other)}{until}"


def authority_text(one: api.AuthorityOut) -> str:
    """What a CA is good for now."""
    words = [word for is_so, word in ((one.signs, "signs"), (one.believed, "believed")) if is_so]
    return ", ".join(words) or "not believed"


def next_text(cluster: str, one: api.AuthorityReplacementOut) -> str:
    """What comes next, with the command where that is a person's."""
    order = f"kedge replace-ca {cluster}{' --clients' if one.kind == 'clients' else ''}"
    if one.phase == "old-alone":
        return "It is on its way back to the old CA alone, by itself"
    if one.phase == "new-alone":
        return "It ends by itself, and there is no way back"
    back = f"The way back is `{order} --back`"
    if not one.reached:
        return f"It goes on by itself until every node is at this phase. {back}"
    if one.phase == "trust-both" and one.kind == "cluster":
        return (
            f"Once all clients believe both CAs (`kedge endpoints {cluster} --ca`): `{order} --continue`, which shuts "
            f"out those that believe the old one alone. {back}"
        )
    if one.phase == "trust-both":
        return f"For users to be signed by the new CA: `{order} --continue`. {back}"
    if one.kind == "cluster":
        return f"The next phase begins by itself, and there is no way back from it. Until then: `{order} --back`"
    waits = f"Once every user has a certificate of the new CA: `{order} --continue`, and then there is no way back"
    return f"{waits}. {back}"


def day(at: datetime) -> str:
    return f"{at:%Y-%m-%d}"
