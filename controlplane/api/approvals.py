"""Proposals as one caller may see and decide them, and what is done once somebody agreed.

A proposal is seen by whoever may read every cluster it concerns. Whoever may approve on all of them, as they are and as
they would be, and is no author of the change, says yes; then the author's own rights, the policies and the plan are
judged again, and the change goes through the ordinary handler.
"""

import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache

from controlplane.api.access.accounts import People
from controlplane.api.access.bindings import Traits, traits_of
from controlplane.api.access.rights import Forbidden, Rights
from controlplane.api.access.roles import Verb
from controlplane.api.move_proposals import REBALANCE, order_of
from controlplane.api.scoped.services import scoped
from controlplane.api.services import PortalServices, Proposals, Proposed
from controlplane.api.specs import Judged, Order, declare, judge
from controlplane.cluster import commands
from controlplane.cluster.spec_source import binding_of
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.source import API
from controlplane.commands.handler import CommandOutcome
from controlplane.fleet.proposals.fold import ProposalState, ProposalView
from controlplane.fleet.proposals.stream import ProposalFold, ProposalNotFound
from events import proposal_facts as facts
from events.clock import Clock
from events.spec.birth import settled
from events.spec.document import load_documents

_log = logging.getLogger(__name__)

_NAMED = ("user:", "oidc:")
"""Subjects that are one person each. The installation's token is whoever can read a file: it agrees to nothing."""


def propose(
    services: PortalServices, judged: Judged, text: str, *, actor: str, key: str, message: str = ""
) -> ProposalView:
    """Records a judged file as a proposal. Raises Forbidden for who may not even declare it."""
    if services.access.proposals is None:
        raise commands.CommandRefused(
            "no-proposals", "a second person must approve, and this server records no proposals"
        )
    clusters = [one.document.metadata.name for one in judged.documents]
    clusters += [topic.document.spec.cluster for topic in judged.topics]
    clusters += [user.document.spec.cluster for user in judged.users]
    wanted = Proposed(
        change="apply",
        clusters=tuple(dict.fromkeys(clusters)),
        digest=judged.digest,
        reasons=judged.reserved,
        text=text,
        file=judged.file,
        message=message,
    )
    return services.access.proposals.propose(wanted, actor=actor, key=key)


def in_force_digest(view: ClusterView, topic: str = "") -> str:
    """Pins what is to be deleted or changed: this very cluster at this generation, or this topic as it is declared."""
    if not topic:
        return f"{view.uid}.{view.generation}"
    known = view.topics.by_name.get(topic)
    declared = hashlib.sha256(repr(known.declared).encode()).hexdigest()[:10] if known else ""
    return f"{view.uid}.{topic}.{declared}"


@dataclass(frozen=True, slots=True)
class ProposalService:
    """See Proposals. `services` are the whole server's: what is executed is judged by its author's rights."""

    fold: ProposalFold
    services: PortalServices
    rights: Rights = field(default_factory=lambda: Rights("nobody", ()))

    def scoped(self, rights: Rights) -> Proposals:
        """The same for one caller."""
        return replace(self, rights=rights)

    def all(self) -> list[ProposalView]:
        """Those the caller may read, the newest first. One whose time is up is told as void."""
        found = [self._unless_expired(p) for p in self.fold.view().by_id.values() if self._may(Verb.READ, p)]
        return sorted(found, key=lambda p: (p.at, p.id), reverse=True)

    def get(self, number: str) -> ProposalView:
        """Raises ProposalNotFound, also for one that is not theirs to see."""
        found = self.fold.get(number)
        if not self._may(Verb.READ, found):
            self.rights.trail.judged(Verb.READ, f"proposal {number}", allowed=False)
            raise ProposalNotFound(number)
        return self._unless_expired(found)

    def may_approve(self, proposal: ProposalView) -> bool:
        """Whether the caller's yes would count."""
        return self._is_named() and self._may(Verb.APPROVE, proposal) and not self.is_author(proposal)

    def is_author(self, proposal: ProposalView) -> bool:
        """Whether the caller asked for it, or a commit names them."""
        name = self.rights.subject.partition(":")[2]
        claimed = {word.strip("<>()\"',").casefold() for word in proposal.made.claimed.split()}
        claimed |= {word.partition("@")[0] for word in claimed} | {proposal.made.claimed.casefold()}
        return self.rights.subject == proposal.made.author or (bool(name) and name.casefold() in claimed)

    def propose(self, change: Proposed, *, actor: str, key: str) -> ProposalView:
        """Records what the caller asks for; they need the right to do it, had nobody to be asked."""
        self._judge_author(change, self.rights)

        def made(number: str, expires_at: object) -> facts.ProposalMade:
            return facts.ProposalMade(
                id=number,
                change=change.change,
                clusters=change.clusters,
                topic=change.topic,
                text=change.text,
                file=change.file,
                message=change.message,
                digest=change.digest,
                reasons=change.reasons,
                author=self.rights.subject,
                claimed="",
                source=API,
                via=self.rights.via,
                commit="",
                expires_at=expires_at,  # type: ignore[arg-type]  # a datetime, as the fold gives it
            )

        proposal = self.fold.propose(made, actor=actor, key=key)
        self.rights.trail.judged("propose", _words(proposal), allowed=True)
        self.rights.trail.event_position = self.services.store.head()
        return proposal

    def approve(self, number: str, note: str) -> ProposalView:
        """Says yes and has it done. Asked again by the same person after a crash in between it goes on.

        Raises ProposalNotFound, Forbidden, CommandRefused where it is decided already, StoreUnavailable.
        """
        proposal = self.get(number)
        self._require(proposal)
        if proposal.state is ProposalState.VOID and self.fold.get(number).state is not ProposalState.VOID:
            return self._void(number, "its time was up")
        goes_on = proposal.state is ProposalState.APPROVED and proposal.decided_by == self.rights.subject
        if not goes_on:
            approved = facts.ProposalApproved(number, self.rights.subject, note)
            proposal = self.fold.decide(number, approved, actor=self._actor)
        self.rights.trail.event_position = self.services.store.head()
        binding = binding_of(proposal.made.source)
        if binding:
            if self.services.fleet.sources is not None:
                self.services.fleet.sources.ring(binding)
            return proposal
        return self._execute(proposal, goes_on=goes_on)

    def reject(self, number: str, note: str) -> ProposalView:
        """Says no; an author takes their own back. Raises as `approve`."""
        proposal = self.get(number)
        if self.rights.subject != proposal.made.author:
            self._require(proposal)
        self.rights.trail.judged("reject", _words(proposal), allowed=True)
        fact = facts.ProposalRejected(number, self.rights.subject, note)
        rejected = self.fold.decide(number, fact, actor=self._actor)
        self.rights.trail.event_position = self.services.store.head()
        return rejected

    # --- judging ------------------------------------------------------------------------------------------------

    @property
    def _actor(self) -> str:
        return f"person:{self.rights.subject.removeprefix('user:')}"

    def _is_named(self) -> bool:
        return self.rights.subject.startswith(_NAMED)

    def _require(self, proposal: ProposalView) -> None:
        what = _words(proposal)
        for traits in _traits(proposal, self.services.cluster.commands.current):
            self.rights.require(Verb.APPROVE, traits, what)
        if not self._is_named():
            self.rights.trail.judged(Verb.APPROVE, what, allowed=False)
            then = "Sign in, or use a token of your own (`kedge login`)."
            raise Forbidden("the installation's token is nobody in particular: it agrees to nothing", then)
        if self.is_author(proposal):
            self.rights.trail.judged(Verb.APPROVE, what, allowed=False)
            raise Forbidden("you are an author of this change", "Somebody else with the role approver must approve it.")

    def _may(self, verb: Verb, proposal: ProposalView) -> bool:
        return all(self.rights.may(verb, traits) for traits in _traits(proposal, self._folded))

    def _folded(self, name: str) -> ClusterView | None:
        return next((v for v in self.services.fleet.clusters.views() if v.name == name and not v.deleted), None)

    def _judge_author(self, change: Proposed, rights: Rights) -> None:
        verb = {"apply": Verb.DECLARE, REBALANCE: Verb.STEER}.get(change.change, Verb.DELETE)
        proposed = {t.name: t for t in _traits_in(change.text)}
        theirs = scoped(self.services, rights).cluster.commands
        for name in change.clusters:
            if name in proposed:
                rights.require(verb, proposed[name], f"{name} as this spec has it")
            view = theirs.current(name)
            if view.document is not None:
                rights.require(verb, traits_of(view.document), name)

    # --- doing --------------------------------------------------------------------------------------------------

    def _execute(self, proposal: ProposalView, *, goes_on: bool) -> ProposalView:
        made, number = proposal.made, proposal.id
        author = self.services.access.people.rights_now(made.author, made.via, self.services.clock())
        if author is None:
            return self._void(number, "its author may not come in any more")
        # What is judged for the author is no judgement of who approves.
        services = scoped(replace(self.services, access=replace(self.services.access, proposals=None)), author)
        try:
            outcomes = self._carried_out(services, proposal)
        except Forbidden as refused:
            return self._void(number, f"its author may not do it any more: {refused}")
        except (commands.CommandRefused, commands.SpecRefused, commands.ClusterNotFound) as refused:
            if goes_on and self._is_in_force(made):
                return self._done(number, "in force")
            return self._void(number, str(refused))
        self.services.fleet.clusters.catch_up()
        for outcome in outcomes:
            if outcome.changed:
                self.services.cluster.wake(outcome.uid)
        return self._done(number, "; ".join(outcome.sentence for outcome in outcomes))

    def _carried_out(self, services: PortalServices, proposal: ProposalView) -> list[CommandOutcome]:
        if proposal.made.change == REBALANCE:
            return [services.cluster.commands.handle(order_of(proposal))]
        is_file = proposal.made.change == "apply"
        return self._apply(services, proposal) if is_file else self._delete(services, proposal)

    def _apply(self, services: PortalServices, proposal: ProposalView) -> list[CommandOutcome]:
        made = proposal.made
        for name in made.clusters:
            services.cluster.commands.current(name)  # raises Forbidden where its author may not see it any more
        judged = judge(services, made.text, file=made.file, takes_pairs=True)
        if not judged.ok:
            raise commands.SpecRefused([problem for problem in judged.problems if problem.is_error])
        if judged.digest != made.digest:
            message = "the plan, or what is in force, is not what it was when it was proposed"
            raise commands.CommandRefused("plan-moved", message, "Propose again.")
        said = f"proposal {made.id}, agreed to by {proposal.decided_by.removeprefix('user:')}"
        order = Order(
            actor=f"person:{made.author.removeprefix('user:')}",
            command_id=f"proposal-{made.id}",
            message=": ".join(part for part in (made.message, said) if part),
            plan_digest=judged.digest,
            approval=made.id,
        )
        return declare(services, judged, order).all

    def _delete(self, services: PortalServices, proposal: ProposalView) -> list[CommandOutcome]:
        made, name = proposal.made, proposal.made.clusters[0]
        view = services.cluster.commands.current(name)
        if in_force_digest(view, made.topic) != made.digest:
            message = f"{made.topic or name} is not what it was when its deletion was proposed"
            raise commands.CommandRefused("plan-moved", message, "Propose again.")
        head = commands.CommandHead(
            name=name, actor=f"person:{made.author.removeprefix('user:')}", command_id=f"proposal-{made.id}"
        )
        command: commands.Command
        if made.topic:
            command = commands.DeleteTopic(
                **head,
                topic=made.topic,
                confirm=made.topic,
                reason=made.message,
                approval=made.id,
            )
        else:
            command = commands.DeleteCluster(
                **head,
                confirm=name,
                reason=made.message,
                approval=made.id,
                only_at=view.generation,
            )
        return [services.cluster.commands.handle(command)]

    def _is_in_force(self, made: facts.ProposalMade) -> bool:
        """Whether all of it was done by an earlier try that crashed before it was noted."""
        if made.change != "apply":
            return made.change == "delete" and bool(
                self.services.cluster.commands.current(made.clusters[0]).requests.tombstone
            )
        loaded = load_documents(made.text, file=made.file, takes_pairs=True)
        documents = loaded.documents if not (loaded.topics or loaded.users or loaded.failovers) else ()
        current = self.services.cluster.commands.current
        views = [(current(d.metadata.name).document, d) for d in documents]
        return bool(views) and all(now == settled(wanted, now) for now, wanted in views)

    def _done(self, number: str, outcome: str) -> ProposalView:
        done = self.fold.decide(number, facts.ProposalExecuted(number, outcome), actor=self._actor)
        self.rights.trail.note = f"proposal {number} executed: {outcome}"
        self.rights.trail.event_position = self.services.store.head()
        return done

    def _void(self, number: str, why: str) -> ProposalView:
        _log.info("proposal %s is void: %s", number, why)
        self.rights.trail.refused = f"proposal {number} void: {why}"
        return self.fold.decide(number, facts.ProposalVoided(number, why), actor=self._actor)

    def _unless_expired(self, proposal: ProposalView) -> ProposalView:
        if not proposal.is_expired(self.services.clock()):
            return proposal
        return replace(proposal, state=ProposalState.VOID, outcome="its time was up")


def approves_still(people: People, current: Callable[[str], ClusterView], clock: Clock, proposal: ProposalView) -> bool:
    """Whether who agreed to a proposal still may, when it is carried out later: that of a git source is."""
    rights = people.rights_now(proposal.decided_by, "", clock())
    return rights is not None and all(rights.may(Verb.APPROVE, traits) for traits in _traits(proposal, current))


def _traits(proposal: ProposalView, current: Callable[[str], ClusterView | None]) -> list[Traits]:
    """Of every cluster it concerns, as it is and as it would be. One that is neither has no traits."""
    proposed = {t.name: t for t in _traits_in(proposal.made.text)}
    found: list[Traits] = []
    for name in proposal.made.clusters:
        view = current(name)
        own = [traits_of(view.document)] if view is not None and view.document is not None else []
        own += [proposed[name]] if name in proposed else []
        found += own or [Traits(name=name)]
    return found


def _words(proposal: ProposalView) -> str:
    return f"proposal {proposal.id} on {', '.join(proposal.made.clusters)}"


@lru_cache(maxsize=512)
def _traits_in(text: str) -> tuple[Traits, ...]:
    return tuple(traits_of(document) for document in load_documents(text, file="").documents) if text else ()
