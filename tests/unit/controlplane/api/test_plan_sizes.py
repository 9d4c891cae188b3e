"""How much a plan says is to move: by sizes that are young, else with their age."""

from dataclasses import replace
from datetime import timedelta

import pytest

from controlplane.api.presenters import specs as spec_answers
from controlplane.api.presenters.plan_text import plan_lines
from controlplane.api.specs import judge
from controlplane.cluster.view import ClusterView
from controlplane.kafka.errors import KafkaUnavailable
from planner.observed import KafkaSnapshot
from tests.builders import a_partition, a_snapshot
from tests.fakes.services import NoKafkaQueries
from tests.unit.controlplane.api.portal_house import House, brokers_as_declared
from tests.unit.events.spec_texts import ORDERS

MIB = 2**20
SIX = "size: 6".join(ORDERS.rsplit("size: 3", 1))
NEWER = ORDERS.replace("version: 4.1.1", "version: 4.2.0")


class Brokers(NoKafkaQueries):
    """Brokers that tell how much they hold, or nothing. `asked` counts."""

    def __init__(self, told: KafkaSnapshot | None) -> None:
        self._told, self.asked = told, 0

    def snapshot(self, view: ClusterView) -> KafkaSnapshot:
        """See KafkaQueries."""
        self.asked += 1
        if self._told is None:
            raise KafkaUnavailable(what="reading metadata", where=view.name, why="no broker answers")
        return self._told


@pytest.fixture
def house() -> House:
    made = House()
    made.apply(ORDERS)
    made.join(*brokers_as_declared(made.view()))
    return made


def holding(house: House, size: int, *, ago_s: float = 0.0) -> KafkaSnapshot:
    everywhere = (1000, 1001, 1002)
    return replace(
        a_snapshot(a_partition("clicks-0", everywhere, size_bytes=size)), at=house.now - timedelta(seconds=ago_s)
    )


def total(house: House, brokers: Brokers, text: str = NEWER) -> str:
    """The line of `kedge plan` with bytes and time."""
    judged = judge(
        replace(house.services, brokers=replace(house.services.brokers, kafka_queries=brokers)),
        text,
        file="orders.yaml",
    )
    (plan,) = judged.plans
    return next(line.plain for line in plan_lines(spec_answers.plan_out(plan)) if line.plain.startswith("  total"))


def test_sizes_of_a_minute_ago_are_asked_for_anew(house: House) -> None:
    """A topic that was filled since the last look was told as 0 B to move."""
    house.snapshots[house.view().uid] = holding(house, 0, ago_s=50)
    assert ", 30.0 MiB to move, " in total(house, Brokers(holding(house, 10 * MIB)))


def test_a_topic_filled_in_the_last_seconds_is_in_the_plan(house: House) -> None:
    """The demo's own plan said 0 B: its topic was filled within ten seconds of the last look."""
    house.snapshots[house.view().uid] = holding(house, 0, ago_s=5)
    assert ", 30.0 MiB to move, " in total(house, Brokers(holding(house, 10 * MIB)))


def test_sizes_of_this_moment_are_taken_as_they_are(house: House) -> None:
    house.snapshots[house.view().uid] = holding(house, MIB, ago_s=1)
    brokers = Brokers(holding(house, 10 * MIB))
    assert ", 3.0 MiB to move, " in total(house, brokers)
    assert brokers.asked == 0


def test_brokers_that_do_not_answer_leave_sizes_with_their_age(house: House) -> None:
    house.snapshots[house.view().uid] = holding(house, MIB, ago_s=50)
    assert ", 3.0 MiB to move (as it was 50 s ago), " in total(house, Brokers(None))


def test_where_nobody_ever_read_a_size_none_is_told(house: House) -> None:
    assert ", size to move unknown until Kafka is read, " in total(house, Brokers(None))


def test_a_server_that_reads_no_kafka_itself_asks_for_the_sizes(house: House) -> None:
    assert ", 30.0 MiB to move, " in total(house, Brokers(holding(house, 10 * MIB)))


def test_a_plan_that_copies_nothing_says_nothing_of_bytes_and_asks_nobody(house: House) -> None:
    brokers = Brokers(holding(house, 10 * MIB))
    assert "to move" not in total(house, brokers, ORDERS.replace("log.retention.hours: 72", "log.retention.ms: 1000"))
    assert brokers.asked == 0


def then(house: House, brokers: Brokers, text: str) -> list[str]:
    judged = judge(
        replace(house.services, brokers=replace(house.services.brokers, kafka_queries=brokers)),
        text,
        file="orders.yaml",
    )
    return [
        line.plain for line in plan_lines(spec_answers.plan_out(judged.plans[0])) if line.plain.startswith("  then")
    ]


def test_more_brokers_are_told_what_moves_onto_them_once_they_have_joined(house: House) -> None:
    told = "about 15.0 MiB of the 30.0 MiB that are there by a rebalance"
    brokers = Brokers(holding(house, 10 * MIB))
    assert then(house, brokers, SIX) == [f"  then: once they have joined, 3 new brokers get {told}"]
    slowly = f"{SIX}  balance: {{perDayGib: 5}}\n"
    assert then(house, brokers, slowly)[0].endswith("by a rebalance, at most 5 GiB a day (spec.balance.perDayGib)")
    assert then(house, Brokers(None), SIX)[0].endswith("get their share of what is there by a rebalance")


def test_more_brokers_that_get_nothing_are_told_to_stay_empty(house: House) -> None:
    told = "3 new brokers get no replica of what is there (spec.balance.after is never): `kedge rebalance` moves some"
    assert then(house, Brokers(None), f"{SIX}  balance: {{after: never}}\n") == [f"  then: {told}"]


def test_a_birth_and_a_roll_have_nothing_that_follows(house: House) -> None:
    assert then(House(), Brokers(None), ORDERS) == []
    assert then(house, Brokers(None), NEWER) == []


def test_metadata_that_makes_another_plan_is_left_to_the_next_look_of_the_server(house: House) -> None:
    """An apply is held to its plan by what the server has read last: it would refuse what was shown."""
    known = holding(house, MIB, ago_s=50)
    house.snapshots[house.view().uid] = known
    led_elsewhere = replace(holding(house, 10 * MIB), quorum=replace(known.quorum, leader=1000))
    text = NEWER.replace("log.retention.hours: 72", "log.retention.ms: 1000")
    assert ", 30.0 MiB to move, " in total(house, Brokers(holding(house, 10 * MIB)), text)
    assert ", 3.0 MiB to move (as it was 50 s ago), " in total(house, Brokers(led_elsewhere), text)
