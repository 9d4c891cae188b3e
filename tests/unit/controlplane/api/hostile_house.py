"""A portal whose cluster `orders` has one word wherever brokers, clouds, agents, forges, files and people put text."""

from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.api.access.users import User
from controlplane.api.audit.entry import Entry, Outcome
from controlplane.background.forges.forge import Forge
from controlplane.background.forges.link import ForgeLink
from controlplane.background.forges.statuses import ForgeStatus, StatusReconciler
from controlplane.background.git_sync.service import SourceService
from controlplane.background.git_sync.signing import Signature
from controlplane.background.git_sync.status import OUT_OF_SYNC, SourceStatus as SourceStatus, SourceStatuses
from controlplane.background.log_reader.lines import LogLine, LogQuery
from controlplane.background.log_reader.reading import Cursor, LogPage
from controlplane.background.notifications.binding import NotifierBinding
from controlplane.background.notifications.delivery import NotDelivered
from controlplane.background.notifications.outbox import NotifierStatus
from controlplane.background.notifications.service import NotifierSeen
from controlplane.cluster.observed.agent_reports import AGENT_REPORT
from controlplane.cluster.view import ClusterView
from controlplane.converger.tick.beats import LoopWatch
from controlplane.converger.tick.loop import Converger
from controlplane.converger.tick.status import ServerLoop
from controlplane.fleet.freezes.commands import FreezeService
from controlplane.fleet.freezes.state import FreezeCache
from controlplane.fleet.images.commands import ImageService
from controlplane.fleet.images.state import ImageCache
from controlplane.portal.app import create_app
from controlplane.runtime.polling import Looked
from controlplane.storage.latest_values import LatestValue, Subject
from controlplane.storage.streams import FAILOVERS, FREEZES, IMAGES, PROPOSALS, anomalies_stream, pair_stream
from events import facts
from events.anomaly_facts import AnomalyFound
from events.codec import encode
from events.envelope import Origin
from events.failover_facts import FailoverDeclared, PairRegistered
from events.proposal_facts import ProposalMade
from events.spec.problems import Problem
from events.user_facts import AclBinding, UserDeclaration, UsersChanged, UsersDeclared, UsersTroubled, UserTrouble
from planner.consumers.seen import MemberSeen
from planner.observed import BrokerSeen
from planner.rights.acls import Acl
from tests.builders import a_partition, a_report, a_snapshot
from tests.fakes.jobs import MemoryJobStore
from tests.sim.topics import topic_text
from tests.unit.controlplane.api.portal_house import House, broker
from tests.unit.controlplane.background.git_sync.git_house import binding
from tests.unit.controlplane.portal.test_portal_roles_matrix import OURS

MARK = "h0stile"
TEMPLATE = "{{7919*7907}}"
HOSTILE = (
    f"""{MARK}"'><img src={MARK} onerror=alert(1)><script>{MARK}()</script>{TEMPLATE}\u202e\x1b]0;{MARK}\x07\x9b"""
)
"""Ends an attribute, makes an element, is a template, turns the text around, and renames a terminal."""
LONG = MARK + "x" * 400
"""Nothing in it where a line could end."""


class ToldForge:
    """A forge whose own words about its last call are these. Nothing is called."""

    def __init__(self, word: str) -> None:
        self._word = word

    def status(self) -> ForgeStatus:
        """As of now."""
        return ForgeStatus(self._word, self._word, self._word, None, self._word, self._word)


class ToldNotifiers:
    """One notifier that was told nothing, for the reason its receiver gives."""

    def __init__(self, word: str) -> None:
        self._word = word

    def all(self) -> tuple[NotifierSeen, ...]:
        """See Notifiers."""
        return (
            NotifierSeen(NotifierBinding(name="pager", kind="log"), NotifierStatus(1, waiting=1, error=self._word)),
        )

    def test(self, name: str) -> None:
        """See Notifiers."""
        raise NotDelivered(self._word)


class ToldJournals:
    """One line of a broker's log, now."""

    def __init__(self, house: House, word: str) -> None:
        self._house, self._word = house, word

    def read(self, view: ClusterView, wanted: LogQuery, *, after: Cursor, limit: int) -> LogPage:
        """See Journals."""
        line = LogLine(self._word, 1, self._word, self._house.now, "WARN", self._word, f"{self._word}\n{self._word}")
        return LogPage((line,), {0: 1}, is_end=True)


def hostile_house(word: str = HOSTILE) -> House:
    """The house. What cannot be `word`, as it is judged on its way in, is something plain."""
    house = House()
    _with_services(house, word)
    house.apply(OURS.replace("log.retention.hours: 72", "log.retention.hours: 96"))
    house.apply(OURS)
    for retention_ms in (1, 2):
        house.apply(topic_text("payments", partitions=2, config={"retention.ms": retention_ms * 86_400_000}))
    _with_vms(house, word)
    _with_kafka(house, word)
    _with_events(house, word)
    _with_people(house, word)
    _with_users(house, word)
    house.app.state.tailer.close()
    return house


def _with_services(house: House, word: str) -> None:
    """Git sources with their forge, images, freezes."""
    statuses = SourceStatuses((binding("infra"), binding("teams")))
    problem = Problem(word, 7, 3, "KEDGE-SPEC-001", word, word)
    status = SourceStatus(
        binding("teams"),
        state=OUT_OF_SYNC,
        reason=word,
        message=word,
        next_step=word,
        tip="b" * 40,
        applied="a" * 40,
        author=word,
        signature=Signature(why_not=word),
        clusters=("orders",),
        missing=(word,),
        problems=(problem,),
    )
    statuses.put(status, now=house.now)
    reconciler = cast(StatusReconciler, ToldForge(word))
    link = ForgeLink(binding("teams"), cast(Forge, None), reconciler)  # type: ignore[arg-type]
    sources = SourceService(statuses, house.store, lambda name: True)
    freezes, images = FreezeCache(()), ImageCache()
    house.converger = Converger(house.converger._ports, freezes=freezes)
    house.converger._observer._brokers.snapshots = house.snapshots  # type: ignore[assignment]

    def catch_up() -> None:
        house.converger.catch_up()
        for recorded in house.store.read_all(0):
            images.take_in(recorded)

    image_service = ImageService(
        house.store, images, house.converger.views, house.converger.sentence_on, catch_up, lambda: house.now
    )
    frozen = FreezeService(house.store, freezes, house.converger.views, house.converger.catch_up, lambda: house.now)
    watch = LoopWatch(lambda: house.now)
    with suppress(RuntimeError), watch.beat({"a"}):
        raise RuntimeError(word)
    looked = Looked(word, 30.0, house.now, 0.25, word)
    loop = ServerLoop(
        server=word,
        interval_s=5.0,
        store=house.store,
        jobs=MemoryJobStore(lambda: house.now),
        ticked=SimpleNamespace(position=0, poisoned=list),  # type: ignore[arg-type]
        watch=watch,
        timers={word: SimpleNamespace(last_polls=lambda: [looked, replace(looked, problem="", note=word)])},  # type: ignore[dict-item]
        progress={},
    )
    house.services = replace(
        house.services,
        fleet=replace(
            house.services.fleet,
            freezes=frozen,
            images=image_service,
            sources=sources,
            forges={"teams": link},
            clusters=house.converger,
            notifiers=ToldNotifiers(word),
        ),
        operations=replace(house.services.operations, loop=loop),
        brokers=replace(house.services.brokers, journals=ToldJournals(house, word), logs=True),
        cluster=replace(house.services.cluster, progress=lambda view: word),
    )
    house.app = create_app(house.services)
    house.client = house.client_with(dict(house.client.headers))


def _with_vms(house: House, word: str) -> None:
    """VMs as clouds and agents tell of them; what is planned of them is Kedge's own, but for settings."""
    planned = [broker(f"brokers-{zone}-0", 1000 + n, config={"num.io.threads": "8"}) for n, zone in enumerate("abc")]
    house.surge(*planned)
    launched = tuple(facts.LaunchedInstance(p.key, word, word) for p in planned)
    house.record(facts.SurgeCompleted("intent-1", launched, {}))
    house.record(*(facts.InstanceJoined(p.key, p.service_id) for p in planned))
    finding = {"name": word, "since": house.now, "message": word, "numbers": {word: 1.0}}
    for instance in house.view().brokers()[:1]:  # of the others VMs are in doubt, as none of their agents is heard
        seen = a_report(instance, "running", received_at=house.now, findings=(finding,), message=word)
        said = {**seen.report.model_dump(mode="json"), "agent_version": word, "message": word}
        subject = Subject(AGENT_REPORT, house.view().uid, instance.key)
        house.latest.put(LatestValue(subject, said, source="agent", observed_at=house.now))


def _with_kafka(house: House, word: str) -> None:
    """Brokers of others with racks and hosts, topics, groups with members and clients, settings."""
    partitions = (a_partition(f"{word}-0", (1000, 1001)), a_partition("payments-0", (1001, 1002)))
    brokers = {n: BrokerSeen(n, word, False, word, 9092) for n in (1000, 1001, 1002, 9001)}
    house.snapshots[house.view().uid] = replace(a_snapshot(*partitions, at=house.now), brokers=brokers)
    kafka = house.kafka
    kafka.add_controller(100)
    for number in (1000, 1001, 1002):
        kafka.add_broker(number, word)
        kafka.settings.files[number] = {"num.io.threads": word, "log.dirs": word}
    for topic in (word, "payments"):
        kafka.create_topic(topic, partitions=2, rf=1)
        kafka.consumers.commit(word, topic, 0, 0)
    kafka.topics.own.setdefault("payments", {})["cleanup.policy"] = word
    kafka.consumers.join("billing", "payments")
    group = kafka.consumers.by_name["billing"]
    given = group.members["member-1"].partitions
    group.members = {word: MemberSeen(word, word, word, ("payments",), given)}


def _with_events(house: House, word: str) -> None:
    """What was recorded with somebody's words in it."""
    house.record(facts.ConditionChanged("Blocked", True, "NoRoom", word), facts.ClusterPaused(word, None))
    house.record(facts.RollingRestartRequested("r1", ("brokers-a-0.g1",), word))
    house.record(facts.LossesDoubted(("brokers-b-0.g1", "brokers-c-0.g1"), ("b", "c")))
    found = AnomalyFound("orders-1", "orders", "slow-broker", word, word, "waiting", word)
    frozen = facts.FreezeDeclared("freeze-1", house.now.replace(year=2027), word, ("orders",), (word,), {word: word})
    image = facts.ImagePublished("4.1.1", 1, (), word, word, "critical", word, word)
    made = ProposalMade(
        id="waiting1",
        change="delete",
        clusters=("orders",),
        topic="",
        text="",
        file=word,
        message=word,
        digest=word,
        reasons=(word,),
        author=f"user:{word}",
        claimed=word,
        source=f"git:{word}",
        via="session",
        commit=word,
        expires_at=house.now,
    )
    of: dict[str, object] = {anomalies_stream(house.view().uid): found, FREEZES: frozen, IMAGES: image, PROPOSALS: made}
    uid = house.view().uid
    of[FAILOVERS] = PairRegistered("p1", "orders", (uid, word))
    of[pair_stream("p1")] = FailoverDeclared("orders", uid, word, "cold", {}, word, word, word)
    for number, (stream, fact) in enumerate(of.items()):
        house.store.append(stream, [encode(fact, f"w{number}")], expected_version=0, origin=Origin(word))
    house.converger.catch_up()


def _with_people(house: House, word: str) -> None:
    """People whom others named, what they may, and what was done."""
    people = house.services.access.people
    people.users.add(User(word, people.passwords.hashed("a good password"), False, house.now))
    people.users.bind(Binding(f"group:{word}", Role.VIEWER, f"label:x={word}"))
    house.audit.append(Entry(house.now, word, word, word, f"POST /{word}", word, word, Outcome.DENIED, 403, None, word))


def _with_users(house: House, word: str) -> None:
    """A user of the cluster with rights to what others named, in trouble in Kafka's words; and one nobody declared."""
    binding = AclBinding("topic", word, "literal", "Read")
    alice = UserDeclaration("alice", "scram-sha-512", (binding,), {}, word, {word: word})
    house.record(UsersDeclared((alice,), "api", word, word))
    house.record(UsersChanged("", {"alice": 1}, (), ("alice",), (), ()))
    house.record(UsersTroubled((UserTrouble("alice", "KafkaRefused", word),)))
    house.kafka.users.acls = {Acl(f"User:{word}", "topic", word, "literal", "Read", "allow", word)}
