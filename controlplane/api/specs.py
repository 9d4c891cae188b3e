"""Validate, plan, apply: a spec file on its way into force. All documents of a file, or none."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final, Generic, TypeVar

from agent.wire import Report
from controlplane.api.costs import priced
from controlplane.api.services import PortalServices
from controlplane.cluster.commands import (
    CommandRefused,
    DeclareCluster,
    DeclaredIn,
    DeclareTopics,
    DeclareUsers,
    TopicDeclared,
    UserDeclared,
)
from controlplane.cluster.observed.agent_reports import AGENT_REPORT, reports_by_key
from controlplane.cluster.observed.disks import with_volume_sizes
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.source import API
from controlplane.commands.admission.in_cluster import by_cluster
from controlplane.commands.admission.judge import Judgement, SpecJudge
from controlplane.commands.failover_declarations import DeclarePair
from controlplane.commands.failover_orders import PairOutcome
from controlplane.commands.handler import CommandOutcome
from controlplane.commands.previews.failovers import pair_digest, pair_lines
from controlplane.commands.previews.old_clients import old_client_warnings
from controlplane.commands.previews.plan import PlanPreview, combined_digest, preview
from controlplane.commands.previews.topics import topic_lines, topics_digest
from controlplane.commands.previews.users import user_lines, users_digest
from controlplane.runtime.call_errors import CallFault
from events.ids import derived_id
from events.quantities import counted
from events.spec.birth import settled_file
from events.spec.document import LoadResult, load_documents
from events.spec.failover_model import KafkaFailoverDocument
from events.spec.model import KafkaClusterDocument
from events.spec.positions import Positions
from events.spec.problems import Problem, has_errors
from events.spec.topic_model import KafkaTopicDocument
from events.spec.user_model import KafkaUserDocument
from planner.observed import KafkaSnapshot
from planner.rollout.fleet_order import stage_of

_D = TypeVar("_D", KafkaTopicDocument, KafkaUserDocument)
_JUST_NOW_S: Final = 2.0
"""Brokers would hardly tell anything else than what was read as lately as this."""


@dataclass(frozen=True, slots=True)
class JudgedDocument:
    """One document with the warnings that stand in it, and what it would do."""

    document: KafkaClusterDocument
    positions: Positions
    warnings: tuple[str, ...]
    plan: PlanPreview


@dataclass(frozen=True, slots=True)
class PlacedPair:
    """A pair of the file, and where it stands there."""

    document: KafkaFailoverDocument
    positions: Positions


@dataclass(frozen=True, slots=True)
class Judged:
    """A file as this installation sees it. `documents` is empty when a problem is an error."""

    file: str
    problems: tuple[Problem, ...]
    documents: tuple[JudgedDocument, ...]
    topics: tuple[TopicDeclared, ...] = ()
    topic_plan: tuple[str, ...] = ()
    """What would be declared of them, in words."""
    topic_digests: Mapping[str, str] = field(default_factory=dict)
    """What pins that, by the cluster they are to live in, in the order of the file."""
    users: tuple[UserDeclared, ...] = ()
    user_plan: tuple[str, ...] = ()
    user_digests: Mapping[str, str] = field(default_factory=dict)
    reserved: tuple[str, ...] = ()
    """Why a second person must approve, in words."""
    pairs: tuple[PlacedPair, ...] = ()
    pair_plan: tuple[str, ...] = ()
    pair_digests: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not has_errors(self.problems)

    @property
    def refusal(self) -> str:
        """Why nothing of it may be declared, in short and without a word of the file, which may hold a secret; "" where
        it may."""
        errors = [problem for problem in self.problems if problem.is_error]
        if not errors:
            return ""
        first = errors[0].code + f" in line {errors[0].line}" * bool(errors[0].line)
        return f"the spec is refused: {counted(len(errors), 'problem')}, the first {first}"

    @property
    def plans(self) -> tuple[PlanPreview, ...]:
        return tuple(d.plan for d in self.documents)

    @property
    def digest(self) -> str:
        """Pins what a person agrees to: the plans, and what would become of topics, users and pairs."""
        beside = [*self.topic_digests.values(), *self.user_digests.values(), *self.pair_digests]
        return combined_digest([*(plan.digest for plan in self.plans), *beside])

    @property
    def plan_beside(self) -> tuple[str, ...]:
        """What would be declared of topics, users and pairs, in words."""
        return (*self.topic_plan, *self.user_plan, *self.pair_plan)

    @property
    def rolling(self) -> int:
        """Living clusters that have steps to do for it."""
        return sum(plan.rolls for plan in self.plans)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """How a file is applied: by whom, under which id, and whether only if its plans are still those."""

    actor: str
    command_id: str
    message: str = ""
    plan_digest: str | None = None
    dry_run: bool = False
    approval: str = ""
    """The proposal a second person agreed to."""


@dataclass(frozen=True, slots=True)
class Declared:
    """What came of it, cluster by cluster; of a dry run nothing."""

    clusters: Sequence[CommandOutcome] = ()
    topics: Sequence[CommandOutcome] = ()
    users: Sequence[CommandOutcome] = ()
    pairs: Sequence[PairOutcome] = ()

    @property
    def all(self) -> list[CommandOutcome]:
        """What is in clusters, and they."""
        return [*self.clusters, *self.topics, *self.users]


def judge(services: PortalServices, text: str, *, file: str, takes_pairs: bool = False) -> Judged:
    """Reads a file, judges it against what is in force as far as the caller may know, and plans each document.

    A name of a cluster they may not read is judged as one that is free; `declare` refuses it. `takes_pairs` as
    of `load_documents`. Raises StoreUnavailable.
    """
    loaded, ask = load_documents(text, file=file, takes_pairs=takes_pairs), services.cluster.judge
    views = {d.metadata.name: services.cluster.commands.visible(d.metadata.name) for d in loaded.documents if loaded.ok}
    loaded = settled_file(loaded, {name: view.document for name, view in views.items()}) if loaded.ok else loaded
    problems = list(loaded.problems)
    reserved: list[str] = []
    documents = tuple(
        _planned(services, views[document.metadata.name], document, loaded.positions[index], _warnings(loaded, index))
        for index, document in enumerate(loaded.documents if loaded.ok else ())
    )
    judged = Judged(file, (), documents)
    for one in documents:
        name = one.document.metadata.name
        found = ask.cluster(
            views[name],
            one.document,
            positions=one.positions,
            snapshot=services.fleet.clusters.last_snapshot(views[name].uid),
            rolling=judged.rolling,
            beside=[other.document for other in documents],
        )
        problems += found.problems
        reserved += [f"{name}: {reason}" for reason in found.reasons]
    topics = [TopicDeclared(t, at) for t, at in zip(loaded.topics, loaded.topic_positions, strict=True)]
    users = [UserDeclared(u, at) for u, at in zip(loaded.users, loaded.user_positions, strict=True)]
    if loaded.ok:
        beside = {document.metadata.name: document for document in loaded.documents}
        problems += _of_pairs(services, loaded, beside)
        found_topics = _beside(services, beside, topics, _TOPICS).added_to(problems, reserved)
        found_users = _beside(services, beside, users, _USERS).added_to(problems, reserved)
        judged = replace(
            judged,
            topics=tuple(topics),
            topic_plan=tuple(found_topics.lines),
            topic_digests=found_topics.digests,
            users=tuple(users),
            user_plan=tuple(found_users.lines),
            user_digests=found_users.digests,
        )
        judged = _with_pairs(services, judged, loaded)
    if has_errors(problems):
        return Judged(file, tuple(problems), ())
    return replace(judged, problems=tuple(problems), reserved=tuple(dict.fromkeys(reserved)))


def _with_pairs(services: PortalServices, judged: Judged, loaded: LoadResult) -> Judged:
    """The same with the pairs of the file."""
    placed = [PlacedPair(p, at) for p, at in zip(loaded.failovers, loaded.failover_positions, strict=True)]
    if not placed:
        return judged
    known = services.fleet.failovers.pairs()
    return replace(
        judged,
        pairs=tuple(placed),
        pair_plan=tuple(line for p in placed for line in pair_lines(known.named(p.document.pair), p.document)),
        pair_digests=tuple(pair_digest(known.named(p.document.pair), p.document) for p in placed),
    )


def _of_pairs(
    services: PortalServices, loaded: LoadResult, beside: Mapping[str, KafkaClusterDocument]
) -> list[Problem]:
    """What of the file's pairs only their living clusters tell."""
    found: list[Problem] = []
    for failover, where in zip(loaded.failovers, loaded.failover_positions, strict=True):
        found += services.fleet.failovers.problems(failover, beside, where, services.cluster.commands.visible)
    return [problem for problem in found if problem not in loaded.problems]


def _planned(
    services: PortalServices,
    view: ClusterView,
    document: KafkaClusterDocument,
    positions: Positions,
    warnings: tuple[str, ...],
) -> JudgedDocument:
    """The document with its plan, and what is told beside it."""
    wanted = replace(view, document=document, generation=view.generation + (view.document != document))
    plan, snapshot = _plan_of(services, view, document, warnings=warnings, brake=services.cluster.brake(wanted))
    plan = replace(
        plan,
        networks=services.fleet.networks.planned(replace(view, document=document)),
        clients=_old_clients(services, view, document),
        window=services.cluster.window(wanted) if plan.rollout.phases else "",
        cost=priced(services, view, document, plan.rollout, snapshot),
    )
    return JudgedDocument(document, positions, warnings, plan)


def _plan_of(
    services: PortalServices, view: ClusterView, document: KafkaClusterDocument, *, warnings: Sequence[str], brake: str
) -> tuple[PlanPreview, KafkaSnapshot | None]:
    """The plan, and the metadata that its bytes are from: a converged cluster is looked at once a minute only, and a
    person is not to be told that nothing moves because nothing was there a minute, or ten seconds, ago."""
    cost_tags = services.cluster.judge.cost_tags

    def plan_by(snapshot: KafkaSnapshot | None) -> PlanPreview:
        plan = preview(view, document, snapshot=snapshot, warnings=warnings, brake=brake, cost_tags=cost_tags)
        age = max(timedelta(), services.clock() - snapshot.at).total_seconds() if snapshot else None
        return replace(plan, sizes_age_s=age)

    known = services.fleet.clusters.last_snapshot(view.uid)
    plan = plan_by(known)
    if not plan.copies or (plan.sizes_age_s is not None and plan.sizes_age_s <= _JUST_NOW_S):
        return plan, known
    try:
        reports = reports_by_key(services.cluster.latest.of_cluster(view.uid, AGENT_REPORT))
        now = with_volume_sizes(services.brokers.kafka_queries.snapshot(view), view, reports)
    except CallFault:
        return plan, known  # the answer says how old its sizes are
    anew = plan_by(now)
    # An apply is held to the plan by what the server itself has read last.
    return (anew, now) if anew.digest == plan.digest else (plan, known)


def _old_clients(services: PortalServices, view: ClusterView, document: KafkaClusterDocument) -> tuple[str, ...]:
    """Nothing is read where the plan brings no other version."""
    if view.document is None or view.document.spec.kafka.version == document.spec.kafka.version:
        return ()
    rows = services.cluster.latest.of_cluster(view.uid, AGENT_REPORT)
    return old_client_warnings(view, document, [Report.model_validate(dict(r.value)) for r in rows])


@dataclass(frozen=True)
class _Judging(Generic[_D]):
    """How one kind of what is in clusters is judged, told, and pinned."""

    judge: Callable[
        [SpecJudge, ClusterView, KafkaClusterDocument | None, Sequence[DeclaredIn[_D]], KafkaSnapshot | None], Judgement
    ]
    lines: Callable[[ClusterView, KafkaClusterDocument, Sequence[_D]], Sequence[str]]
    digest: Callable[[ClusterView, KafkaClusterDocument, Sequence[_D]], str]


_TOPICS = _Judging[KafkaTopicDocument](
    lambda judge, view, cluster, own, snapshot: judge.topics(view, cluster, own, snapshot), topic_lines, topics_digest
)
_USERS = _Judging[KafkaUserDocument](
    lambda judge, view, cluster, own, _: judge.users(view, cluster, own), user_lines, users_digest
)


@dataclass
class _Found:
    """What came of judging one kind."""

    problems: list[Problem] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    digests: dict[str, str] = field(default_factory=dict)

    def added_to(self, problems: list[Problem], reserved: list[str]) -> "_Found":
        """The same, with its problems and reasons added. What the file alone tells of them beside their cluster was
        told when it was read."""
        problems += [problem for problem in self.problems if problem not in problems]
        reserved += self.reasons
        return self


def _beside(
    services: PortalServices,
    beside: Mapping[str, KafkaClusterDocument],
    declared: Sequence[DeclaredIn[_D]],
    kind: _Judging[_D],
) -> _Found:
    """The topics or users of a file, what would be declared of them, and what pins that. `beside`: its clusters."""
    found = _Found()
    for name, own in by_cluster(declared).items():
        view = services.cluster.commands.visible(name)
        cluster = beside.get(name, view.document)
        snapshot = services.fleet.clusters.last_snapshot(view.uid)
        judgement = kind.judge(services.cluster.judge, view, cluster, own, snapshot)
        found.problems += judgement.problems
        found.reasons += [f"{name}: {reason}" for reason in judgement.reasons]
        if cluster is not None:
            wanted = [one.document for one in own]
            found.lines += kind.lines(view, cluster, wanted)
            found.digests[name] = kind.digest(view, cluster, wanted)
    return found


def declare(services: PortalServices, judged: Judged, order: Order) -> Declared:
    """Brings a judged file into force, clusters first, then their topics and users, then pairs: all is checked before
    anything is recorded.

    A crash in between leaves some declared; the same order again declares the rest. Raises what
    `CommandHandler.handle` does.
    """
    pins = _pins(judged, order)
    beside = {one.document.metadata.name: one.document for one in judged.documents}
    clusters = [_command(judged, one, pin, order) for one, pin in zip(judged.documents, pins, strict=False)]
    last = len(clusters) + len(judged.topic_digests)
    topics = _topic_commands(judged, pins[len(clusters) : last], order)
    beyond = last + len(judged.user_digests)
    users = _user_commands(judged, pins[last:beyond], order)
    pairs = _pair_commands(judged, pins[beyond:], order)
    for command in clusters:
        services.cluster.commands.check(command)
    for within in (*topics, *users):
        services.cluster.commands.check(within, beside=beside.get(within.name))
    for pair in pairs:
        services.fleet.failovers.check(pair, beside)
    if order.dry_run:
        return Declared()
    handle = services.cluster.commands.handle
    # Later stages look at what earlier ones have in hand: those are recorded first.
    early_first = sorted(clusters, key=lambda c: stage_of(c.document.metadata.labels))
    done = {command.name: handle(command) for command in early_first}
    return Declared(
        [done[command.name] for command in clusters],
        [handle(command) for command in topics],
        [handle(command) for command in users],
        [services.fleet.failovers.declare(pair) for pair in pairs],
    )


def _command(whole: Judged, judged: JudgedDocument, pin: str | None, order: Order) -> DeclareCluster:
    name = judged.document.metadata.name
    return DeclareCluster(
        name=name,
        actor=order.actor,
        command_id=derived_id("apply", order.command_id, name),
        document=judged.document,
        source=": ".join(part for part in (whole.file, order.message) if part),
        positions=judged.positions,
        warnings=judged.warnings,
        plan_digest=pin,
        rolling=whole.rolling,
        beside=tuple(one.document for one in whole.documents),
        approval=order.approval,
    )


def _topic_commands(judged: Judged, pins: Iterable[str | None], order: Order) -> list[DeclareTopics]:
    return [
        DeclareTopics(
            name=name,
            actor=order.actor,
            command_id=derived_id("apply topics", order.command_id, name),
            topics=tuple(own),
            source=API,
            path=judged.file,
            approval=order.approval,
            plan_digest=pin,
        )
        for (name, own), pin in zip(by_cluster(judged.topics).items(), pins, strict=True)
    ]


def _user_commands(judged: Judged, pins: Iterable[str | None], order: Order) -> list[DeclareUsers]:
    return [
        DeclareUsers(
            name=name,
            actor=order.actor,
            command_id=derived_id("apply users", order.command_id, name),
            users=tuple(own),
            source=API,
            path=judged.file,
            approval=order.approval,
            plan_digest=pin,
        )
        for (name, own), pin in zip(by_cluster(judged.users).items(), pins, strict=True)
    ]


def _pair_commands(judged: Judged, pins: Iterable[str | None], order: Order) -> list[DeclarePair]:
    return [
        DeclarePair(
            name=pair.document.pair,
            actor=order.actor,
            command_id=derived_id("apply failover", order.command_id, pair.document.pair),
            document=pair.document,
            source=API,
            positions=pair.positions,
            plan_digest=pin,
            path=judged.file,
        )
        for pair, pin in zip(judged.pairs, pins, strict=True)
    ]


def _pins(judged: Judged, order: Order) -> list[str | None]:
    """One for each cluster of the file, then one for the topics of each, one for its users, and one for each pair."""
    beside = len(judged.topic_digests) + len(judged.user_digests) + len(judged.pairs)
    expected = len(judged.documents) + beside
    if order.plan_digest is None:
        return [None] * expected
    pins = order.plan_digest.split("+")
    if len(pins) != expected:
        parts = "clusters, their topics, their users, pairs"
        message = f"the plan has {counted(len(pins), 'part')}, the file {expected}: {parts}"
        raise CommandRefused("plan-moved", message, "Plan again, and look at what it says now.")
    return list(pins)


def _warnings(loaded: LoadResult, index: int) -> tuple[str, ...]:
    """Warnings that stand in the document of that index, as a plan shows them."""
    starts = [where.at(()).line for where in loaded.positions]
    end = starts[index + 1] if index + 1 < len(starts) else None
    return tuple(
        f"{w.code}: {w.message}" for w in loaded.warnings if w.line >= starts[index] and (end is None or w.line < end)
    )
