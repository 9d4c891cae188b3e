"""What a portal has in place of what acts: nothing leads, runs, lists or makes anything here."""

from typing import NoReturn

from controlplane.cluster.view import ClusterView
from controlplane.converger.situation.ports import Ports
from controlplane.kafka.errors import KafkaUnavailable
from controlplane.kafka.gateway import KafkaGateway
from controlplane.storage.job_store import JobStore
from controlplane.storage.latest_values import LatestStore
from controlplane.storage.lease import LostLeadership
from events.clock import Clock
from events.ids import ClusterUid, Epoch
from events.store import EventStore


class NullLeadership:
    """`Leadership` of a portal: it never asks for the lease."""

    may_act = False

    def held_epoch(self) -> Epoch | None:
        """None, ever."""
        return None

    def epoch(self) -> Epoch:
        """Raises LostLeadership."""
        raise LostLeadership("a portal leads nothing")


NEVER_LEADS = NullLeadership()


class Always:
    """`Leadership` for the looks of a portal, which every portal makes for itself."""

    may_act = True


class Idle:
    """`Inventory`, `Runner`, `NetworkRunner` and `PlanStore` that do nothing. Raises LostLeadership, all of it."""

    def _idle(self, *_: object, **__: object) -> NoReturn:
        raise _nothing()

    seen = terminate = terraform = network = planning = balancing = put = get = _idle


IDLE = Idle()


def inert_ports(store: EventStore, jobs: JobStore, latest: LatestStore, installation_id: str, clock: Clock) -> Ports:
    """Ports of a fold that is never ticked. `epoch` raises before anything else would be asked for."""
    return Ports(
        store=store,
        jobs=jobs,
        plans=IDLE,
        latest=latest,
        inventory=IDLE,
        runner=IDLE,
        kafka=_no_kafka,
        boot_data=_no_boot_data,
        installation_id=installation_id,
        clock=clock,
        epoch=NEVER_LEADS.epoch,
    )


def _no_kafka(view: ClusterView) -> KafkaGateway:
    raise KafkaUnavailable(what="asking brokers", where=view.name, why="a portal's fold asks none")


def _no_boot_data(uid: ClusterUid, node: str, generation: int, intent: str) -> str:
    raise _nothing()


def _nothing() -> LostLeadership:
    return LostLeadership("a portal acts on nothing")
