"""All clusters as a portal knows them: folded from the log, said by the loop, seen in Kafka by looks of its own."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from controlplane.cluster.observed.moves import MoveProgress
from controlplane.cluster.observed.replica_lag import Replica
from controlplane.cluster.observed.traffic import Traffic
from controlplane.cluster.view import ClusterView
from controlplane.converger.tick.fleet_brake import FleetBrake
from controlplane.converger.tick.loop import Converger
from controlplane.converger.tick.report import Said
from controlplane.server.split.snapshot import KafkaReadings
from controlplane.server.split.subscriber import LoopSubscriber
from events.ids import ClusterUid
from planner.observed import KafkaSnapshot


@dataclass(frozen=True, slots=True)
class PortalFleet:
    """`portal.services.Fleet`. `folded` is never ticked: its ports act on nothing."""

    folded: Converger
    readings: KafkaReadings
    subscriber: LoopSubscriber
    brake: FleetBrake

    def poll(self) -> None:
        """Reads what others recorded, hears the loop, begins the looks that are due. Raises EventsError."""
        self.folded.catch_up()
        self.subscriber.poll()
        self.readings.poll()

    def views(self) -> list[ClusterView]:
        """See Fleet, as all below."""
        return self.folded.views()

    def view(self, uid: ClusterUid) -> ClusterView | None:
        return self.folded.view(uid)

    def said(self, uid: ClusterUid) -> Said | None:
        return self.subscriber.said(uid)

    def sentence_on(self, view: ClusterView) -> str:
        said = self.said(view.uid)
        return said.sentence if said is not None else ""

    def last_snapshot(self, uid: ClusterUid) -> KafkaSnapshot | None:
        return self.readings.last_snapshot(uid)

    def last_moves(self, uid: ClusterUid) -> MoveProgress:
        return self.readings.last_moves(uid)

    def traffic(self, uid: ClusterUid) -> Traffic:
        return self.readings.traffic(uid)

    def behind(self, uid: ClusterUid) -> Mapping[Replica, datetime]:
        return self.readings.behind(uid)

    def catch_up(self) -> None:
        self.folded.catch_up()

    @property
    def position(self) -> int:
        return self.folded.position

    def brake_on(self, view: ClusterView) -> str:
        """What the fleet's brake would say to a roll of this cluster, counted from the log."""
        self.brake.look_at([v for v in self.views() if not v.deleted])
        return self.brake.words(view)
