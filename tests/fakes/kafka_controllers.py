"""The controllers of a fake cluster: processes on disks, their registrations, who votes and who leads."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from controlplane.kafka.errors import KafkaRefused, KafkaUnavailable
from controlplane.kafka.features import KRAFT
from events.ids import kafka_uuid
from planner.observed import EndpointSeen
from tests.fakes.kafka_parts import FakeController, FakeHangs

if TYPE_CHECKING:
    from tests.fakes.migration import FakeMigration

CATCH_UP_S = 1.0
"""A fresh controller has the metadata log after this time."""


class FakeControllers:
    """The part of `FakeKafka` that is about the quorum; the rest of it knows the time and who may be asked."""

    cluster_id: str
    hangs: FakeHangs
    migration: "FakeMigration"
    finalised: dict[str, int]
    _seconds: float

    def __init__(self) -> None:
        self._controllers: dict[int, FakeController] = {}
        self._registered_controllers: dict[int, str] = {}
        self._voters: dict[int, str] = {}
        self._heard: set[int] = set()
        self._leader, self._epoch = -1, 0
        self._disks_made = 0
        self.stubborn_voters: set[int] = set()
        """Whose new endpoints never get into the metadata log."""

    @property
    def seconds(self) -> float:
        """The fake's time."""
        return self._seconds

    @property
    def is_static(self) -> bool:
        """kraft.version 0: every member's file names the voters, and none can be added or removed."""
        return self.finalised.get(KRAFT, 1) == 0

    @property
    def leader(self) -> int:
        """The member that leads, -1 while none does."""
        return self._leader

    def quorum_metrics(self) -> dict[str, float]:
        """What a controller that runs says of its quorum."""
        return {"quorum_leader": float(self._leader), "quorum_high_watermark": 100.0 * (self._leader >= 0)}

    @property
    def active(self) -> int:
        """Who leads the cluster: a member of the quorum, or a broker in ZooKeeper mode."""
        return self._leader if self.migration.quorum_leads else self.migration.controller

    def exchange(self, other: "FakeControllers") -> None:
        """The two quorums change places: this is the other's from now on, and the other this one's."""
        for name in ("_controllers", "_registered_controllers", "_voters", "_leader", "_epoch", "_disks_made"):
            ours, theirs = getattr(self, name), getattr(other, name)
            setattr(self, name, theirs)
            setattr(other, name, ours)

    def add_controller(
        self, controller: int, *, voter: bool = True, version: str = "4.1.1", directory_id: str | None = None
    ) -> str:
        """A controller with a fresh disk; with `voter` it was in the quorum from the beginning. Returns the directory
        id. Its registration outlives it: only a start under the same id renews it."""
        self._disks_made += 1
        own = directory_id or kafka_uuid(self.cluster_id, str(controller), str(self._disks_made))
        self._controllers[controller] = FakeController(controller, own, version)
        self._registered_controllers[controller] = version
        if voter:
            self._voters[controller] = own
        else:
            self._controllers[controller].follows_at = self._seconds + CATCH_UP_S
        self._elect_controller()
        return own

    def found(self, voters: Mapping[int, str]) -> bool:
        """The first quorum, as each of its members formats itself with: who never comes up votes in it, too. Another
        one where nobody of that before runs, or is among these. Whether it is new."""
        if self._voters and (self._voters.keys() & voters.keys() or self.voters_up()):
            return False
        self._voters.clear()
        self._voters.update(voters)
        return True

    def start_controller(self, controller: int, *, version: str | None = None) -> None:
        """A stopped controller comes back on its own disk, so with the same directory id."""
        found = self._controllers[controller]
        found.running, found.follows_at = True, self._seconds + CATCH_UP_S
        found.version = version or found.version
        self._registered_controllers[controller] = found.version
        self._elect_controller()

    def listens(self, controller: int, endpoints: Iterable[EndpointSeen]) -> None:
        """Where its last start listens: as a voter it writes that into the metadata log."""
        if controller not in self.stubborn_voters:
            self._controllers[controller].endpoints = frozenset(endpoints)

    def directory_of(self, controller: int) -> str:
        """The directory its last process ran on, "" for one that never ran."""
        found = self._controllers.get(controller)
        return found.directory_id if found else ""

    def voters(self) -> Mapping[int, str]:
        """Who votes, with the directory, by id."""
        return dict(self._voters)

    def voters_up(self) -> set[int]:
        """Voters whose process runs on the very directory that has the vote."""
        known = self._controllers
        return {c for c, d in self._voters.items() if c in known and known[c].running and known[c].directory_id == d}

    def just_stopped(self) -> set[int]:
        """Controllers that stopped in this very moment: no agent has told of it, and Kafka calls them alive."""
        return {c for c, known in self._controllers.items() if not known.running and known.stopped_at == self._seconds}

    def stop_controller(self, controller: int) -> None:
        found = self._controllers[controller]
        found.running, found.stopped_at = False, self._seconds
        self.hangs.controllers.discard(controller)
        self.hangs.electors.discard(controller)
        self._elect_controller()

    # ---- the port -----------------------------------------------------------------------------------------------

    def add_voter(self, controller: int, directory_id: str, *, host: str, port: int) -> bool:
        what = f"adding voter {controller}"
        self._require_quorum(what)
        self._require_dynamic(what)
        if self._voters.get(controller) is not None:
            return False
        found = self._controllers.get(controller)
        if found is None or found.directory_id != directory_id or not found.running or found.lag(self._seconds) > 0:
            why = "Aborted add voter operation since it is lagging behind (RequestTimedOutError)"
            raise KafkaUnavailable(what=what, where=self.cluster_id, why=why)
        self._voters[controller] = directory_id
        return True

    def remove_voter(self, controller: int, directory_id: str) -> bool:
        what = f"removing voter {controller}"
        self._require_quorum(what)
        self._require_dynamic(what)
        if self._voters.get(controller) != directory_id:
            return False
        del self._voters[controller]
        self._elect_controller()
        return True

    def reelect_controller(self, broker: int, epoch: int) -> bool:
        what = f"electing another controller than {broker}"
        self._require_quorum(what)
        if self.migration.quorum_leads:
            raise KafkaRefused(what=what, where=self.cluster_id, words="no ZooKeeper", error="UnsupportedVersion")
        return self.migration.depose(broker, epoch)

    # ---- inside -------------------------------------------------------------------------------------------------

    def _require_quorum(self, what: str) -> None:
        raise NotImplementedError

    def _require_dynamic(self, what: str) -> None:
        if self.is_static:
            verb = what.partition(" ")[0]
            words = f"Cluster doesn't support {verb} voter because the kraft.version feature is 0"
            raise KafkaRefused(what=what, where=self.cluster_id, words=words, error="UnsupportedVersion")

    def _elect_controller(self) -> None:
        """The leader stays while it runs and votes; a majority of voters must run."""
        running = sorted(self.voters_up())
        leader = self._leader if self._leader in running else (running or [-1])[0]
        leader = leader if len(running) * 2 > len(self._voters) else -1
        if leader != self._leader:
            self._epoch += 1
            self._heard = set()
        self._leader = leader
        self._heard |= set(running)

    def _require_heard(self, what: str, feature: str, level: int) -> None:
        """A static quorum is made dynamic once this leader has heard from each voter, up or not by now (4.1.1)."""
        if feature == KRAFT and self.is_static and set(self._voters) - self._heard:
            words = (
                f"Invalid upgrade of kraft.version to KRAFT_VERSION_{level} because not all of the voters support it"
            )
            raise KafkaRefused(what=what, where=self.cluster_id, words=words, error="InvalidUpdateVersionError")
