"""What a portal answers from where a test has nothing to say of it: nobody is asked, and there is nothing."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from ipaddress import IPv4Network
from typing import Any

from controlplane.api.cloud_readiness import Examination
from controlplane.api.placement_offers import PlacesOffered
from controlplane.api.services import AccessServices, BrokerServices, Fleet, FleetServices, OperationsServices
from controlplane.background.agent_upgrades.service import AgentReleaseStatus, Offered
from controlplane.background.anomalies.windows import NoWindows
from controlplane.background.broker_queries import LogsSeen
from controlplane.background.log_reader.lines import LogQuery
from controlplane.background.log_reader.reading import Cursor, LogPage
from controlplane.background.notifications.service import NotifierNotFound, NotifierSeen
from controlplane.background.topic_placement.history import NoPastPlacements
from controlplane.cluster.commands import CommandRefused
from controlplane.cluster.observed.cloud_drift import AuditNoted
from controlplane.cluster.view import ClusterView, empty_view
from controlplane.commands.failovers import FailoverService
from controlplane.converger.tick.status import LoopStatus
from controlplane.fleet.failovers.state import PairCache
from controlplane.fleet.freezes.commands import FreezeAnswer, FreezeStatus, WantedFreeze, not_found
from controlplane.fleet.images.adoption import RevisionStatus
from controlplane.fleet.images.commands import Published
from controlplane.fleet.networks.commands import NetworkStatus
from controlplane.fleet.networks.decide import AddressPool
from controlplane.kafka.errors import KafkaUnavailable
from events import facts
from events.ids import ClusterUid
from planner.broker_answers import ValueSeen
from planner.consumers.reported import GroupsStatus
from planner.consumers.reset import OffsetSeen
from planner.observed import KafkaSnapshot, SettingsSeen, TopicPartition
from planner.rights.seen import RightsSeen
from providers.base import Place
from providers.price_list import PriceList
from spark.metrics.rates import Rates
from tests.fakes.audit import MemoryAuditStore
from tests.fakes.call_keys import MemoryCallKeys
from tests.fakes.event_store import MemoryEventStore
from tests.fakes.people import people_in_memory


class NoNetworks:
    """Of a server that makes none."""

    def pool(self) -> AddressPool:
        """See Networks."""
        return AddressPool(IPv4Network("10.64.0.0/10"), 20)

    def planned(self, view: ClusterView) -> tuple[str, ...]:
        """See Networks."""
        return ()

    def statuses(self) -> tuple[NetworkStatus, ...]:
        """See Networks."""
        return ()

    def audits_for(self, view: ClusterView) -> Mapping[Place, AuditNoted | None]:
        """See Networks."""
        return {}

    def remove(
        self, name: str, *, confirm: str, account: str, region: str, reason: str, actor: str, command_id: str
    ) -> str:
        """See Networks. Raises CommandRefused."""
        raise CommandRefused("network-not-found", f"there is no network {name!r}: this server makes none")

    def repair(self, name: str, *, account: str, region: str, reason: str, actor: str, command_id: str) -> str:
        """See Networks. Raises CommandRefused."""
        raise CommandRefused("network-not-found", f"there is no network {name!r}: this server makes none")


class NoImages:
    """Of a server without a catalogue."""

    def statuses(self) -> tuple[RevisionStatus, ...]:
        """See Images."""
        return ()

    def publish(self, wanted: facts.ImagePublished, *, actor: str, command_id: str) -> Published:
        """See Images. Raises CommandRefused."""
        raise CommandRefused("no-catalogue", "this server keeps no image catalogue")

    def withdraw(self, name: str, *, reason: str, actor: str, command_id: str) -> str:
        """See Images. Raises CommandRefused."""
        raise CommandRefused("image-not-found", f"there is no image {name!r}: this server keeps no image catalogue")


class NoFreezes:
    """Of a server that keeps none."""

    def status(self) -> FreezeStatus:
        """See Freezes."""
        return FreezeStatus()

    def declare(self, wanted: WantedFreeze, *, actor: str, command_id: str) -> FreezeAnswer:
        """See Freezes. Raises CommandRefused."""
        raise CommandRefused("no-freezes", "this server keeps no freezes")

    def thaw(self, name: str, *, reason: str, actor: str, command_id: str) -> FreezeAnswer:
        """See Freezes. Raises CommandRefused."""
        raise not_found(name)


class NoAgents:
    """Of a server that upgrades none."""

    def status(self) -> AgentReleaseStatus:
        """See Agents."""
        return AgentReleaseStatus()

    def publish(self, version: str, builds: Sequence[Offered], *, notes: str, actor: str, command_id: str) -> str:
        """See Agents. Raises CommandRefused."""
        raise CommandRefused("no-agents", "this server upgrades no agents")

    def withdraw(self, version: str, *, reason: str, actor: str, command_id: str) -> str:
        """See Agents. Raises CommandRefused."""
        raise CommandRefused("no-agents", "this server upgrades no agents")

    def resume(self, *, reason: str, actor: str, command_id: str) -> str:
        """See Agents. Raises CommandRefused."""
        raise CommandRefused("no-agents", "this server upgrades no agents")


class NoNotifiers:
    """Where none is set."""

    def all(self) -> Sequence[NotifierSeen]:
        """See Notifiers."""
        return ()

    def test(self, name: str) -> None:
        """See Notifiers."""
        raise NotifierNotFound(name)


class NoJournals:
    """Where no broker is asked."""

    def read(self, view: ClusterView, wanted: LogQuery, *, after: Cursor, limit: int) -> LogPage:
        """See Journals."""
        raise _asks_nobody(view)


class NoGroups:
    """Where no broker is asked."""

    def look(self, view: ClusterView) -> GroupsStatus:
        """See Groups."""
        raise _asks_nobody(view)


class NoGroupOffsets:
    """Where no broker is asked."""

    def look(self, view: ClusterView, group: str, topics: Collection[str], at: datetime | None) -> OffsetSeen | None:
        """See GroupOffsets."""
        raise _asks_nobody(view)

    def put(self, view: ClusterView, group: str, offsets: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, str]:
        """See GroupOffsets."""
        raise _asks_nobody(view)


class NoKafkaQueries:
    """Where no broker is asked."""

    def topic_values(self, view: ClusterView, topic: str) -> Mapping[str, ValueSeen] | None:
        """See KafkaQueries."""
        raise _asks_nobody(view)

    def broker_values(self, view: ClusterView, broker: int) -> Mapping[str, ValueSeen]:
        """See KafkaQueries."""
        raise _asks_nobody(view)

    def running(self, view: ClusterView, names: frozenset[str]) -> SettingsSeen:
        """See KafkaQueries."""
        raise _asks_nobody(view)

    def topic_logs(self, view: ClusterView, topic: str) -> LogsSeen | None:
        """See KafkaQueries."""
        raise _asks_nobody(view)

    def snapshot(self, view: ClusterView) -> KafkaSnapshot:
        """See KafkaQueries."""
        raise _asks_nobody(view)

    def user_rights(self, view: ClusterView) -> RightsSeen:
        """See KafkaQueries."""
        raise _asks_nobody(view)

    def lake_rates(self, view: ClusterView) -> Rates | None:
        """See KafkaQueries."""
        return None


class NoPlacements:
    """Nothing is recorded."""

    def of(self, uid: ClusterUid) -> KafkaSnapshot | None:
        """See Placements."""
        return None


class NoExaminations:
    """Of a portal without clouds behind it."""

    def results(self, cloud: str = "") -> Sequence[Examination]:
        """See Examinations."""
        return ()


class NoLoop:
    """Of a portal without a loop beside it."""

    def status(self) -> LoopStatus:
        """See LoopService."""
        return LoopStatus()


def fleet_services(clusters: Fleet, **given: Any) -> FleetServices:
    """These clusters alone, but for what is `given`."""
    nothing: dict[str, Any] = {
        "networks": NoNetworks(),
        "images": NoImages(),
        "freezes": NoFreezes(),
        "failovers": FailoverService(MemoryEventStore(), PairCache(), lambda name: empty_view(""), list, lambda: None),
        "agents": NoAgents(),
        "sources": None,
        "forges": {},
        "notifiers": NoNotifiers(),
        "prices": PriceList,
        "places_offered": PlacesOffered,
    }
    return FleetServices(clusters=clusters, **{**nothing, **given})


def broker_services(**given: Any) -> BrokerServices:
    """Brokers that nobody asks, but for what is `given`."""
    nothing: dict[str, Any] = {
        "journals": NoJournals(),
        "groups": NoGroups(),
        "group_offsets": NoGroupOffsets(),
        "kafka_queries": NoKafkaQueries(),
        "windows": NoWindows(),
        "placements": NoPlacements(),
        "past_placements": NoPastPlacements(),
    }
    return BrokerServices(**{**nothing, **given})


def access_services(**given: Any) -> AccessServices:
    """Kept in memory, but for what is `given`."""
    made = {"people": people_in_memory(), "audit": MemoryAuditStore(), "call_keys": MemoryCallKeys()}
    return AccessServices(**{**made, **given})


def operations_services(**given: Any) -> OperationsServices:
    """Of a server without a loop beside it and without clouds, but for what is `given`."""
    return OperationsServices(**{"examinations": NoExaminations(), "loop": NoLoop(), **given})


def _asks_nobody(view: ClusterView) -> KafkaUnavailable:
    return KafkaUnavailable(what="asking brokers", where=view.name, why="this server asks no brokers for that")
