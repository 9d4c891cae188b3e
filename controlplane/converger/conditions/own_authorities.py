"""The condition of CAs that are the user's own: `OwnCaFiles`. Their files are looked at while nobody signs anything, so
that it is known before a node that is to be made needs them."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta

from controlplane.cluster.believed_authorities import believed, own_names
from controlplane.cluster.view import ClusterView
from controlplane.cluster.wait_reasons import NEXT
from controlplane.converger.situation.situation import Situation
from controlplane.storage.certificates.own_authority_look import OwnAuthoritySeen
from events import facts
from events.certificate_facts import ReplacedAuthority

OWN_CA_FILES = "OwnCaFiles"
LOOK_EVERY = timedelta(minutes=1)
"""How often the files are read for this; to sign with they are read each time."""
ENDING = timedelta(days=180)
"""Before its end a CA is named, or a third of its life before, whichever is later. What it signs ends with it."""

LooksAtOwnAuthority = Callable[[str, str, bool], OwnAuthoritySeen]
"""(name in specs, chain of the CA that signs now, whether that is the user's own)"""
_KINDS: tuple[ReplacedAuthority, ...] = ("cluster", "clients")
_ORDER = ("Over", "CannotSign", "FilesUnusable", "Ending", "Renewed", "NotInUse")


class OwnAuthorityWatch:
    """Remembers the last look at the files of each CA, whichever clusters have it: keys of RSA take a while to read."""

    def __init__(self, look_at: LooksAtOwnAuthority) -> None:
        self._look_at = look_at
        self._seen: dict[tuple[str, str, bool], tuple[datetime, OwnAuthoritySeen]] = {}

    def look(self, view: ClusterView, now: datetime) -> Mapping[ReplacedAuthority, OwnAuthoritySeen]:
        """By kind; empty where no CA of the cluster is the user's own, or none was made yet."""
        found: dict[ReplacedAuthority, OwnAuthoritySeen] = {}
        for kind in _KINDS:
            name, signs = _name_of(view, kind), believed(view, kind)
            if name and signs is not None:
                found[kind] = self._look(name, signs.signer, bool(_signer_name(view, kind)), now)
        return found

    def _look(self, name: str, signer: str, is_own: bool, now: datetime) -> OwnAuthoritySeen:
        asked = name, signer, is_own
        seen = self._seen.get(asked)
        if seen is None or not timedelta() <= now - seen[0] < LOOK_EVERY:
            self._seen = {key: one for key, one in self._seen.items() if now - one[0] < LOOK_EVERY}
            seen = self._seen[asked] = now, self._look_at(name, signer, is_own)
        return seen[1]


def own_ca_files(situation: Situation) -> facts.ConditionChanged | None:
    """The files of a CA of the user's own want a person. None in clusters that never had one."""
    view, seen = situation.view, situation.seen.background.own_authorities
    if not seen:
        over = facts.ConditionChanged(OWN_CA_FILES, False, "Free", "")
        return over if OWN_CA_FILES in view.conditions else None
    found = [told for kind, one in sorted(seen.items()) for told in _wants(view, kind, one, situation.now)]
    if not found:
        return facts.ConditionChanged(OWN_CA_FILES, False, "Usable", "")
    found.sort(key=lambda told: _ORDER.index(told[0]))
    return facts.ConditionChanged(OWN_CA_FILES, True, found[0][0], ". ".join(message for _, message in found))


def _wants(
    view: ClusterView, kind: ReplacedAuthority, one: OwnAuthoritySeen, now: datetime
) -> Iterator[tuple[str, str]]:
    """Reason and words, the first that counts."""
    what, change = f"the {kind} CA `{one.name}`", view.vms.authority_change
    again = f"kedge replace-ca {view.name}{' --clients' if kind == 'clients' else ''}"
    is_replaced = change is not None and change.kind == kind
    if one.until is not None and now >= one.until:
        then = f"{NEXT}{again}" if one.is_other else f"{NEXT}put a renewed one beside it, then {again}"
        yield (
            "Over",
            f"{what} ended on {one.until.date()}: what it signed is refused, and it signs nothing more. {then}",
        )
    elif not one.signs:
        why = one.problem or "its directory has another key than that of the CA nodes believe"
        yield (
            "CannotSign",
            f"nothing can be signed with {what}: {why}. What runs goes on; no node can be made, and a start goes on "
            f"with the certificate it had. {NEXT}put its files back, beside those of any successor",
        )
    elif one.problem:
        yield (
            "FilesUnusable",
            f"{what} still signs, and the files it is to go on with cannot be used: {one.problem}. {NEXT}put that "
            "right on the server's machine; they are read again within a minute",
        )
    elif one.is_other and not is_replaced:
        yield _other(what, one, again, is_renewed=_signer_name(view, kind) == one.name)
    elif _is_ending(one, now) and not is_replaced:
        yield (
            "Ending",
            f"{what} ends on {one.until and one.until.date()}, and all it signs with it. {NEXT}put a renewed one "
            f"beside it ([kafka.own_cas]), then {again}",
        )


def _other(what: str, one: OwnAuthoritySeen, again: str, *, is_renewed: bool) -> tuple[str, str]:
    until = f", until {one.next_until.date()}" if one.next_until is not None else ""
    if not is_renewed:
        return "NotInUse", f"the spec asks for {what}{until}, and nodes believe another one so far. {NEXT}{again}"
    ends = f"; the one that signs ends on {one.until.date()}" if one.until is not None else ""
    return "Renewed", f"the directory of {what} has a later one{until}, which signs nothing yet{ends}. {NEXT}{again}"


def _is_ending(one: OwnAuthoritySeen, now: datetime) -> bool:
    if one.until is None or one.since is None:
        return False
    return one.until - now <= min(ENDING, (one.until - one.since) / 3)


def _name_of(view: ClusterView, kind: ReplacedAuthority) -> str:
    """What the spec asks for; else what signs, where it is the user's own."""
    wanted = own_names(view.document).get(kind, "") if view.document is not None else ""
    return wanted or _signer_name(view, kind)


def _signer_name(view: ClusterView, kind: ReplacedAuthority) -> str:
    """Of the CA that signs now; "" where it is Kedge's own."""
    authorities, change, signs = view.vms.authorities, view.vms.authority_change, believed(view, kind)
    if authorities is None or signs is None:
        return ""
    if change is not None and change.kind == kind and change.certificate and signs.signer == change.certificate:
        return change.own
    name: str = getattr(authorities, f"own_{kind}")
    return name
