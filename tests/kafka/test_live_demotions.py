"""Leadership taken off a broker by a person's word, and replicas of a dead one made anew, on real brokers.

One controller, three brokers in zones of their own. The steps are the converger's, and what they decide is done by the
gateway of the server; other rungs have no say here.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import pytest

from controlplane.cluster.folds import anomalies, topics
from controlplane.cluster.view import ClusterView
from controlplane.converger.questions.moves.placement_work import placement_of
from controlplane.converger.situation.decision import Decision
from controlplane.converger.situation.effects import CancelMoves, ClearThrottles, ElectPreferred, Reassign, SetThrottle
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.health.demotions import demotion_step
from controlplane.converger.steps.housekeeping import housekeeping_step
from controlplane.converger.steps.moves.placements import lost_replicas_step
from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.dialer import DirectDialer
from events import facts
from planner.observed import TopicPartition
from tests.builders import NOW, a_situation, a_view, an_instance
from tests.kafka_processes import KafkaProcesses
from tests.kafka_topics import create_topic
from tests.waiting import until

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(180)]

NETWORK = "127.0.97"
RACKS = {1000: "a", 1001: "b", 1002: "c"}
KEYS = {1000: "brokers-a-0.g1", 1002: "brokers-c-0.g1"}
RULES = {**anomalies.RULES, **topics.RULES}
Step = Callable[[Situation], Decision | None]


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaProcesses]:
    kafka = KafkaProcesses(tmp_path_factory.mktemp("demotions"), network=NETWORK, min_isr=1, replication=2)
    try:
        kafka.found(RACKS)
        yield kafka
    finally:
        kafka.close()


class Cluster:
    """A view that grows by what steps record, and real brokers that do what they decide."""

    def __init__(self, gateway: AdminGateway) -> None:
        self.gateway = gateway
        brokers = [
            an_instance(f"brokers-{r}-0", service_id=b, rack=r, address=f"{NETWORK}.{b - 999}")
            for b, r in RACKS.items()
        ]
        self.view: ClusterView = a_view(*brokers)
        self.recorded: list[object] = []

    def told(self, *happened: object) -> None:
        for fact in happened:
            self.view = RULES[type(fact)](self.view, fact, NOW)
            self.recorded.append(fact)

    def go_on(self, steps: Sequence[Step]) -> bool:
        """One tick of these; whether there was anything to do."""
        kafka = self.gateway.snapshot()
        situation = a_situation(self.view, kafka=kafka, placement=placement_of(self.view, kafka), now=kafka.at)
        decision = next((d for step in steps if (d := step(situation)) is not None), None)
        if decision is None:
            return False
        self.told(*decision.events)
        for effect in decision.effects:
            self.carry_out(effect)
        return True

    def carry_out(self, effect: object) -> None:
        match effect:
            case Reassign(targets=targets):
                assert self.gateway.reassign(targets) == {}
            case ElectPreferred(partitions=partitions):
                self.gateway.elect_preferred(partitions)
            case SetThrottle(plan=plan):
                self.gateway.set_throttle(plan)
            case ClearThrottles():
                self.gateway.clear_throttles()
            case CancelMoves():
                raise AssertionError("nothing has to be taken back")
            case _:
                raise AssertionError(effect)

    def until_recorded(self, kind: type[object], steps: Sequence[Step], *, timeout_s: float = 60) -> None:
        def there() -> bool:
            self.go_on(steps)
            return any(isinstance(fact, kind) for fact in self.recorded)

        until(there, f"{kind.__name__} to be recorded", timeout_s=timeout_s)

    def led(self) -> Counter[int]:
        return Counter(p.leader for p in self.gateway.snapshot().partitions)


@pytest.fixture
def cluster(processes: KafkaProcesses) -> Iterator[Cluster]:
    dialer = DirectDialer()
    gateway = AdminGateway(dialer, "demotions", lambda: processes.bootstrap)
    until(lambda: len(gateway.snapshot().live_brokers()) == 3, "three live brokers")
    yield Cluster(gateway)
    dialer.close()


LEADERSHIP = (housekeeping_step, demotion_step)


def test_a_demoted_broker_leads_nothing_whatever_others_do_and_leads_again_once_it_is_taken_back(
    processes: KafkaProcesses, cluster: Cluster
) -> None:
    create_topic(processes.bootstrap, "orders", partitions=6, rf=3)
    assert cluster.led()[1000] == 2
    cluster.told(facts.BrokersDemoteRequested((KEYS[1000],), (1000,), "asked by anna: its disk"))
    cluster.until_recorded(facts.BrokerDemoted, LEADERSHIP)
    until(lambda: cluster.led()[1000] == 0, "its leaders to go")
    name = TopicPartition("orders", 0)
    others = [b for b in cluster.gateway.snapshot().by_name[name].replicas if b != 1000]
    assert cluster.gateway.reassign({name: (1000, *others)}) == {}
    until(lambda: cluster.gateway.snapshot().by_name[name].replicas[0] == 1000, "the list by hand")
    cluster.gateway.elect_preferred([name])
    until(lambda: cluster.led()[1000] == 1, "a leader by hand")
    until(lambda: not cluster.go_on(LEADERSHIP) and cluster.led()[1000] == 0, "the list to be put right")
    held = {p.name for p in cluster.gateway.snapshot().partitions if 1000 in p.replicas}
    assert len(held) == 6, "nothing was copied off it"
    cluster.told(facts.BrokersUndemoteRequested((KEYS[1000],), "asked by anna"))
    cluster.until_recorded(facts.BrokerPromoted, LEADERSHIP)
    assert cluster.view.requests.demotions == {}
    until(lambda: not cluster.go_on(LEADERSHIP) and cluster.led()[1000] == 2, "its share of leaders")


@pytest.mark.soak
def test_replicas_of_a_dead_broker_are_made_anew_once_a_person_gives_it_up(
    processes: KafkaProcesses, cluster: Cluster
) -> None:
    create_topic(processes.bootstrap, "copies", partitions=6, rf=2, bytes_per_partition=2**20)
    processes.kill(1002)
    until(lambda: 1002 not in cluster.gateway.snapshot().live_brokers(), "it to be fenced", timeout_s=60)
    mine = {p.name for p in cluster.gateway.snapshot().partitions if 1002 in p.replicas and p.name.topic == "copies"}
    assert mine, "it held some"
    assert not cluster.go_on((lost_replicas_step,)), "it may come back: nobody has given it up"
    cluster.told(facts.OfflineFixRequested((1002,), "asked by anna: it burned"))

    def made_anew() -> bool:
        cluster.go_on((lost_replicas_step,))
        by_name = cluster.gateway.snapshot().by_name
        return all(set(by_name[n].replicas) == {1000, 1001} == set(by_name[n].isr) for n in mine)

    until(made_anew, "its replicas to be made anew", timeout_s=90)
    assert cluster.gateway.snapshot().moving() == ()
