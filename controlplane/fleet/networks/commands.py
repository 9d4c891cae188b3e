"""What people ask of networks: a look, a removal with the name typed out, a repair."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from controlplane.cluster.commands import CommandRefused
from controlplane.cluster.observed.cloud_drift import AuditNoted, Noted
from controlplane.cluster.places import places_of
from controlplane.cluster.view import ClusterView
from controlplane.fleet.networks.decide import AddressPool, change_of, in_words
from controlplane.fleet.networks.fold import NetworkState, NetworksView, NetworkView
from controlplane.fleet.networks.reconciler import NetworkReconciler
from controlplane.fleet.networks.waiting import try_now
from controlplane.fleet.stream_command import recorded_once
from controlplane.storage.streams import NETWORKS
from events import facts
from events.envelope import Origin, Recorded
from events.ids import ClusterUid, derived_id
from events.store import EventStore
from providers.base import Place
from providers.networks import NetworkRunKind


@dataclass(frozen=True, slots=True)
class NetworkStatus:
    """One network as people see it. `waits` says why its removal does not begin."""

    network: NetworkView
    clusters: tuple[str, ...]
    sentence: str
    error: str
    since: datetime
    audit: AuditNoted | None = None
    """The last look at what was changed of it by hand, None before the first."""


class Networks(Protocol):
    """What people ask of networks; `NetworkService` is one."""

    def pool(self) -> AddressPool: ...

    def planned(self, view: ClusterView) -> tuple[str, ...]: ...

    def statuses(self) -> tuple[NetworkStatus, ...]: ...

    def audits_for(self, view: ClusterView) -> Mapping[Place, AuditNoted | None]: ...

    def remove(
        self, name: str, *, confirm: str, account: str, region: str, reason: str, actor: str, command_id: str
    ) -> str: ...

    def repair(self, name: str, *, account: str, region: str, reason: str, actor: str, command_id: str) -> str: ...


@dataclass(frozen=True, slots=True)
class NetworkService:
    """Safe to call from many threads and from several servers. `catch_up` folds what others recorded, `audits` are the
    last ones of a network by its place."""

    store: EventStore
    reconciler: NetworkReconciler
    views: Callable[[], Sequence[ClusterView]]
    catch_up: Callable[[], None]
    audits: Callable[[ClusterUid], Noted] = lambda key: {}

    def pool(self) -> AddressPool:
        """Where addresses come from."""
        return self.reconciler.pool

    def planned(self, view: ClusterView) -> tuple[str, ...]:
        """What is made before the first VM of a document, and who is let in then, in words; `view` is the cluster with
        it."""
        return self.reconciler.planned(view, self.views())

    def statuses(self) -> tuple[NetworkStatus, ...]:
        """All that are not removed, by place and name."""
        wants = self.reconciler.wants(self.views())
        found = []
        for network in self.reconciler.view().existing():
            clusters = wants[network.place].clusters if network.place in wants else ()
            error = network.work.message if network.work is not None else ""
            audit = self._audit(network)
            found.append(NetworkStatus(network, clusters, in_words(network), error, network.requested_at, audit))
        return tuple(found)

    def audits_for(self, view: ClusterView) -> Mapping[Place, AuditNoted | None]:
        """The last audits of the networks a cluster is in, of those Kedge makes; None for one before its first."""
        known = self.reconciler.view()
        there = {place: network for place in places_of(view) if (network := known.at(place)) is not None}
        return {place: self._audit(network) for place, network in there.items()}

    def _audit(self, network: NetworkView) -> AuditNoted | None:
        return self.audits(ClusterUid(network.id)).get(str(network.place))

    def remove(
        self, name: str, *, confirm: str, account: str, region: str, reason: str, actor: str, command_id: str
    ) -> str:
        """Asks for a network's removal; `confirm` is its name again. Raises `CommandRefused`, as while one names it.

        Idempotent by `command_id`; says in words what will happen.
        """

        if confirm != name:
            raise CommandRefused(
                "not-confirmed", f"`{confirm}` is not `{name}`: nothing was changed", "Type the network's name again."
            )

        def decide() -> tuple[object | None, str]:
            network = self._named(name, account, region)
            removal = facts.NetworkRemovalRequested(network.id, name, reason or "asked for")
            if network.state is NetworkState.REMOVING:
                if network.work is None or network.work.failed_at is None:
                    return None, f"network {name} in {network.place} is being removed already"
                return removal, f"network {name} in {network.place} is being removed: what failed is tried again now"
            want = self.reconciler.wants(self.views()).get(network.place)
            if want is not None:
                raise CommandRefused(
                    "network-in-use",
                    f"network {name} in {network.place} is named by {', '.join(want.clusters)}",
                    "Delete these clusters first; a cluster never changes its network.",
                )
            return removal, f"network {name} in {network.place} ({network.cidr}) is removed once nothing is left in it"

        return self._record(decide, actor, command_id)

    def repair(self, name: str, *, account: str, region: str, reason: str, actor: str, command_id: str) -> str:
        """Has what is missing of a network made again, as after somebody deleted part of it; tries at once."""

        def decide() -> tuple[object | None, str]:
            network = self._named(name, account, region)
            if network.state is NetworkState.REMOVING:
                raise CommandRefused(
                    "network-removing",
                    f"network {name} in {network.place} is being removed",
                    f"To have tried now what failed of that: `{try_now(network)}`.",
                )
            if network.work is not None and network.work.kind is NetworkRunKind.ACCESS:
                # A run that makes what is missing would have to take back what the change has made: it is refused.
                change = change_of(network, network.work.access, reason or "a person asked for it again")
                return change, f"network {name} in {network.place}: the change of its firewall is tried again now"
            zones = network.work.zones if network.work is not None else network.zones
            fact = facts.NetworkZonesRequested(network.id, dict(zones), reason or "a person asked for a repair")
            return fact, f"network {name} in {network.place}: what is missing is made again"

        return self._record(decide, actor, command_id)

    def _named(self, name: str, account: str, region: str) -> NetworkView:
        """The one a person means. Raises `CommandRefused` when there is none, or several and nothing says which."""
        there = [n for n in self.reconciler.view().existing() if n.name == name]
        meant = [n for n in there if account in ("", n.place.account) and region in ("", n.place.region)]
        if len(meant) == 1:
            return meant[0]
        if not meant:
            known = ", ".join(f"{n.name} in {n.place}" for n in self.reconciler.view().existing()) or "none"
            raise CommandRefused(
                "network-not-found", f"there is no such network {name!r}; Kedge made {known}", "`kedge networks`"
            )
        places = ", ".join(str(n.place) for n in meant)
        raise CommandRefused(
            "network-ambiguous", f"there is a network {name!r} in {places}", "Say which with --account and --region."
        )

    def _record(self, decide: Callable[[], tuple[object | None, str]], actor: str, command_id: str) -> str:
        return recorded_once(
            self.store,
            NETWORKS,
            look=self._look,
            decide=lambda _: decide(),
            event_id=derived_id("network-command", command_id),
            origin=Origin(actor, command_id=command_id),
            known=lambda _: "asked for already",
            recorded=self._take_in,
        )

    def _look(self) -> NetworksView:
        self.catch_up()
        return self.reconciler.view()

    def _take_in(self, events: Sequence[Recorded]) -> None:
        for recorded in events:
            self.reconciler.take_in(recorded)
