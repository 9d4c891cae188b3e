"""One judge of a spec, whichever way it comes: API, pages, CLI and git refuse the same things for the same reasons."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network

from controlplane.cluster.commands import TopicDeclared, UserDeclared
from controlplane.cluster.view import ClusterView
from controlplane.commands.admission.own_authorities import own_authority_problems
from controlplane.commands.admission.spec import ImageFor, Unbootable, admission_problems, no_image, nothing_unbootable
from controlplane.commands.admission.topics import is_declared, topic_problems
from controlplane.commands.admission.users import is_declared as is_user_declared, user_problems
from controlplane.commands.policies.gate import PolicyGate
from controlplane.storage.certificates.own_authorities import OwnAuthorities
from events.clock import Clock, utc_now
from events.spec.model import KafkaClusterDocument
from events.spec.network_rules import pool_problems
from events.spec.positions import Positions
from events.spec.problems import Problem
from planner.observed import KafkaSnapshot


@dataclass(frozen=True, slots=True)
class Judgement:
    """What speaks against a document, warnings too, and why a second person has to agree to it, in words."""

    problems: tuple[Problem, ...] = ()
    reasons: tuple[str, ...] = ()

    @property
    def errors(self) -> tuple[Problem, ...]:
        """What refuses it, whoever agrees."""
        return tuple(problem for problem in self.problems if problem.is_error)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecJudge:
    """What this installation holds a spec against.

    `gate` asks the policies. `clients_must_avoid`: the pool networks of Kedge get their addresses from, None where it
    makes none. `cost_tags`: labels that are put on clouds. `own_authorities`: CAs of the user's own, None in a process
    that may not read their keys, and leaves them to the one that may. `password_sinks`: by
    name, None where the settings are not known.
    """

    gate: PolicyGate = field(default_factory=PolicyGate)
    unbootable: Unbootable = nothing_unbootable
    cost_tags: Collection[str] = ()
    image_for: ImageFor = no_image
    clients_must_avoid: IPv4Network | None = None
    now: Clock = utc_now
    own_authorities: OwnAuthorities | None = None
    password_sinks: Collection[str] | None = None

    def cluster(
        self,
        view: ClusterView,
        document: KafkaClusterDocument,
        *,
        positions: Positions,
        snapshot: KafkaSnapshot | None,
        rolling: int,
        beside: Sequence[KafkaClusterDocument] = (),
    ) -> Judgement:
        """A document on its way into force. One that is in force was accepted, and is not refused again: only what it
        is warned of is told. `rolling`: living clusters that the whole change rolls; `beside`: all documents of it.
        Raises StoreUnavailable where a quota asks for the fleet."""
        found = admission_problems(
            view,
            document,
            positions=positions,
            snapshot=snapshot,
            unbootable=self.unbootable,
            cost_tags=self.cost_tags,
            image_for=self.image_for,
        )
        if self.clients_must_avoid is not None:
            found = [*found, *pool_problems(document, self.clients_must_avoid, positions)]
        if self.own_authorities is not None:
            found = [*found, *own_authority_problems(view, document, self.own_authorities, positions)]
        if view.document == document:
            return Judgement(tuple(problem for problem in found if not problem.is_error))
        verdict = self.gate.cluster(view, document, rolling, beside)
        refused = [refusal.problem(positions) for refusal in verdict.refusals]
        return Judgement((*found, *refused), tuple(str(reason) for reason in verdict.reasons))

    def topics(
        self,
        view: ClusterView,
        cluster: KafkaClusterDocument | None,
        topics: Sequence[TopicDeclared],
        snapshot: KafkaSnapshot | None,
    ) -> Judgement:
        """Topics on their way into force; `cluster` is the document in force, or about to be. What is declared already,
        in a cluster that stays as it is, is not refused again, and policies have no say in it. Raises as `cluster`."""
        found = topic_problems(view, cluster, [(one.document, one.positions) for one in topics], snapshot)
        documents = [one.document for one in topics]
        if cluster is None:
            return Judgement(tuple(found))
        if all(is_declared(view, cluster, document) for document in documents):
            stays = cluster == view.document
            return Judgement(tuple(problem for problem in found if not (stays and problem.is_error)))
        verdict = self.gate.topics(view, cluster, documents, snapshot)
        # Each at the topic it is about; one about none of them at the first.
        where = {one.document.topic: one.positions for one in topics}
        first = topics[0].positions
        refused = [refusal.problem(where.get(refusal.subject, first)) for refusal in verdict.refusals]
        return Judgement((*found, *refused), tuple(str(reason) for reason in verdict.reasons))

    def users(
        self, view: ClusterView, cluster: KafkaClusterDocument | None, users: Sequence[UserDeclared]
    ) -> Judgement:
        """Users on their way into force, as `topics`."""
        placed = [(one.document, one.positions) for one in users]
        found = user_problems(view, cluster, placed, self.now(), self.password_sinks)
        documents = [one.document for one in users]
        if cluster is None:
            return Judgement(tuple(found))
        if all(is_user_declared(view, document) for document in documents):
            stays = cluster == view.document
            return Judgement(tuple(problem for problem in found if not (stays and problem.is_error)))
        verdict = self.gate.users(view, cluster, documents)
        where = {one.document.user: one.positions for one in users}
        refused = [refusal.problem(where.get(refusal.subject, users[0].positions)) for refusal in verdict.refusals]
        return Judgement((*found, *refused), tuple(str(reason) for reason in verdict.reasons))
