"""What Kafka has of users: their rights, quotas and passwords."""

from datetime import datetime

from controlplane.cluster.view import ClusterView
from controlplane.converger.situation.observation import UsersObserved
from controlplane.converger.situation.ports import Ports
from controlplane.converger.tick.sources.brokers import LOOK_EVERY
from controlplane.converger.tick.users import refused_of
from controlplane.kafka.errors import KafkaFault
from planner.observed import KafkaSnapshot
from planner.rights.seen import RightsSeen


class UsersReader:
    """Remembers when the users of a cluster were looked at. Each look reads all there is: 50,000 ACLs take Kafka and us
    half a second, and asking for each user by itself takes longer."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._users_at: dict[str, datetime] = {}
        self._rights: dict[str, RightsSeen] = {}

    def read(self, view: ClusterView, snapshot: KafkaSnapshot, missing: dict[str, str]) -> UsersObserved | None:
        """All there is, for a cluster that has declared users alone; None where it is not time, or cannot be read."""
        users = view.users
        if not users.by_name or not view.roll.converged:
            return None
        looked = self._users_at.get(view.uid)
        if looked is not None and snapshot.at - looked < LOOK_EVERY and not users.has_work:
            return None
        try:
            rights = self._ports.kafka(view).user_rights()
        except KafkaFault as error:
            missing["users"] = str(error)
            return None
        self._users_at[view.uid] = snapshot.at
        before = self._rights.get(view.uid)
        # What is worked out of a look is kept with it: another one that shows the same is that one.
        rights = self._rights[view.uid] = before if before is not None and before == rights else rights
        refused = refused_of(self._ports.latest, view.uid, users.change.id) if users.change is not None else {}
        return UsersObserved(rights, refused)
