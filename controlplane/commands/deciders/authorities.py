"""The decision on the replacement of a CA: what is asked for, the plan of it in words, and what is refused. Pure.

Phases go on by themselves as far as they concern nodes alone. Where others have to do something first, clients or
users, a person says that they have; and until the last phase there is a way back.
"""

from controlplane.cluster.believed_authorities import certificates_of, own_names, root_of
from controlplane.cluster.commands import CommandRefused, ReplaceAuthority
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.certificates import AuthorityPhase, AuthorityReplacementView
from controlplane.cluster.work_in_hand import has_work
from controlplane.commands.deciders.decision import CommandDecision, asked_by
from controlplane.commands.deciders.lookups import NOTHING, Lookups
from controlplane.storage.certificates.own_authorities import OwnAuthorityUnusable
from events import facts
from events.ids import derived_id
from events.quantities import counted


def authority_replacement_asked(
    view: ClusterView, command: ReplaceAuthority, known: Lookups = NOTHING
) -> CommandDecision:
    """Raises CommandRefused. One replacement of a cluster at a time: nodes could not be at phases of two."""
    if view.vms.authorities is None or not view.nodes_speak_tls:
        message = f"{view.name} has no CA: its nodes speak plaintext, or none of them has started yet"
        raise CommandRefused("no-ca", message, "docs/kafka-security.md says which clusters have one.")
    change = view.vms.authority_change
    if change is not None and change.kind != command.kind:
        message = f"the {change.kind} CA of {view.name} is being replaced, and is at {change.phase}"
        raise CommandRefused("ca-replace-running", message, f"Wait until that is over: kedge certificates {view.name}")
    if command.step == "begin":
        return _begun(view, command, change, known)
    if change is None:
        message = f"the {command.kind} CA of {view.name} is not being replaced"
        raise CommandRefused("no-ca-replace", message, f"To begin: {_order(view, command)}")
    return _gone_on(view, command, change) if command.step == "continue" else _gone_back(view, command, change)


def _begun(
    view: ClusterView, command: ReplaceAuthority, change: AuthorityReplacementView | None, known: Lookups
) -> CommandDecision:
    if change is not None:
        return CommandDecision(None, f"the {change.kind} CA of {view.name} is being replaced already: {change.phase}")
    if has_work(view):
        message = f"{view.name} has work in hand: nodes are made, or started anew, for something else"
        raise CommandRefused("not-at-rest", message, f"Ask again then: kedge wait {view.name} --for=converged")
    successor = _successor(view, command, known)
    request = derived_id("ca", view.uid, command.command_id)
    fact = facts.AuthorityReplaceRequested(request, command.kind, asked_by(command, command.reason))
    return CommandDecision(fact, f"{plan_of(view, command.kind)}. {successor}")


def _successor(view: ClusterView, command: ReplaceAuthority, known: Lookups) -> str:
    """Which one it is, in words. Raises CommandRefused where it is the user's own and cannot be used, or is no other
    one than nodes believe."""
    name, files = own_names(view.document).get(command.kind) if view.document else None, known.judge.own_authorities
    if name is None:
        return "The successor is made by Kedge"
    if files is None:
        return f"The successor is the user's own CA `{name}`"
    try:
        wanted = files.wanted(name)
    except OwnAuthorityUnusable as unusable:
        fix = "Put that right on the server's machine; its files are read again at once."
        raise CommandRefused("own-ca-unusable", str(unusable), fix) from None
    now: str = getattr(view.vms.authorities, command.kind)
    if certificates_of(wanted.pem) == certificates_of(now):
        message = f"nodes of {view.name} believe CA `{name}` already, and its directory has no later one"
        fix = "Put the new certificate and key beside them, or name another CA in the spec, and apply it."
        raise CommandRefused("same-ca", message, fix)
    said = f"The successor is the user's own CA `{name}`, until {wanted.until.date()}"
    if root_of(wanted.pem) == root_of(now):
        said += (
            ". Both have the same root, which is what nodes believe: certificates of the one before open the cluster "
            "until they end"
        )
    return said


def plan_of(view: ClusterView, kind: str) -> str:
    """The phases, what each starts anew, and what others have to have done before it."""
    brokers, all_ = len(view.brokers()), len(view.brokers()) + len(view.controllers())
    nodes, again = counted(all_, "node"), f"kedge replace-ca {view.name}"
    if kind == "clients":
        return (
            f"the clients CA of {view.name} gets a successor. 1 trust-both: {counted(brokers, 'broker')} are started "
            f"anew, and recognise users by both. Then it waits for `{again} --clients --continue`. 2 reissue: users "
            "are signed by the new one; give each a new certificate. Then it waits for the same again. 3 new-alone: "
            "brokers are started anew; certificates of the old CA open nothing any more, and its key is deleted. Until "
            f"phase 3: `{again} --clients --back`"
        )
    return (
        f"the cluster CA of {view.name} gets a successor. 1 trust-both: {nodes} are started anew, one at a time, and "
        f"believe both. Then it waits for `{again} --continue`, which you give once all clients believe both (kedge "
        f"endpoints {view.name} --ca; clients of librdkafka have to be made anew). 2 reissue: {nodes} are started anew "
        "with certificates of the new CA: a client that believes the old one alone is shut out from here on. 3 "
        f"new-alone, by itself: {nodes} are started anew, believe the new one alone, and the old key is deleted. Until "
        f"phase 3: `{again} --back`"
    )


def _gone_on(view: ClusterView, command: ReplaceAuthority, change: AuthorityReplacementView) -> CommandDecision:
    if not change.is_reached:
        message = f"not every node of {view.name} is at {change.phase} yet"
        raise CommandRefused("phase-under-way", message, f"Wait for it: kedge certificates {view.name}")
    phase = AuthorityPhase.REISSUE if change.phase is AuthorityPhase.TRUST_BOTH else AuthorityPhase.NEW_ALONE
    fact = facts.AuthorityPhaseRequested(change.id, phase.value, asked_by(command, command.reason))
    what = {
        ("cluster", AuthorityPhase.REISSUE): "nodes are started anew with certificates of the new CA: clients that do "
        "not believe it are shut out. The phase after it begins by itself, and there is no way back from that one",
        ("clients", AuthorityPhase.REISSUE): "users are signed by the new CA; nothing is started anew",
    }
    last = "certificates of the old CA open nothing any more, its key is deleted, and there is no way back"
    return CommandDecision(fact, f"{phase} of the {change.kind} CA: {what.get((change.kind, phase), last)}")


def _gone_back(view: ClusterView, command: ReplaceAuthority, change: AuthorityReplacementView) -> CommandDecision:
    if change.phase is AuthorityPhase.OLD_ALONE:
        return CommandDecision(None, f"the {change.kind} CA of {view.name} stays: it is on its way back already")
    if change.phase is AuthorityPhase.NEW_ALONE:
        message = f"there is no way back from {change.phase}: nodes believe the new CA alone, the old key is deleted"
        raise CommandRefused("no-way-back", message, f"To have another one: {_order(view, command)}, once this is over")
    if change.phase is AuthorityPhase.TRUST_BOTH and change.has_signed:
        message = f"nodes of {view.name} may still show certificates of the new CA, and old-alone has nobody believe it"
        raise CommandRefused("phase-under-way", message, f"Wait for it: kedge certificates {view.name}")
    back = AuthorityPhase.TRUST_BOTH if change.phase is AuthorityPhase.REISSUE else AuthorityPhase.OLD_ALONE
    fact = facts.AuthorityPhaseRequested(change.id, back.value, asked_by(command, command.reason))
    what = (
        "the old CA signs again, both are believed"
        if back is AuthorityPhase.TRUST_BOTH
        else "the old CA alone is believed again, and the key of the new one is deleted"
    )
    return CommandDecision(fact, f"back to {back} of the {change.kind} CA: {what}")


def _order(view: ClusterView, command: ReplaceAuthority) -> str:
    return f"kedge replace-ca {view.name}{' --clients' if command.kind == 'clients' else ''}"
