"""The page of one broker: the gate's own answer to a restart, what is in its way, and what its agent found."""

import re
from datetime import timedelta

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.cluster.observed.agent_reports import AGENT_REPORT, keep_report
from controlplane.storage.latest_values import LatestValue, Subject
from events import facts
from planner.observed import PartitionSeen
from tests.builders import a_partition, a_report, a_snapshot
from tests.unit.controlplane.api.portal_house import START, House
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_orders

VIEWER = Binding("", Role.VIEWER, "*")
FINE = a_partition("fine-0")
THIN = a_partition("thin-0", (1000, 1001), min_isr=2)
BEHIND = a_partition("behind-0", isr=(1000, 1002))
MOVING = a_partition("clicks-0", (1000, 1001, 1002), adding=(1002,), removing=(1001,))


def house_with(*partitions: PartitionSeen, age_s: float = 5) -> House:
    house = house_with_orders()
    house.snapshots[house.view().uid] = a_snapshot(*partitions, at=START - timedelta(seconds=age_s))
    return house


def page_of(house: House, broker: int = 1000) -> str:
    text: str = house.browser("ada", VIEWER).get(f"/clusters/orders/brokers/{broker}").text
    return text


def report(house: House, broker: int, state: str = "running", **more: object) -> None:
    """The word of a broker's agent, kept as the server keeps it."""
    view = house.view()
    instance = next(i for i in view.brokers() if i.service_id == broker)
    seen = a_report(instance, state, received_at=house.now, **more)
    subject = Subject(AGENT_REPORT, view.uid, instance.key)
    house.latest.put(LatestValue(subject, seen.report.model_dump(mode="json"), source="agent", observed_at=house.now))


@pytest.mark.parametrize("partitions", [(FINE,), (FINE, THIN), (FINE, BEHIND), (MOVING,)])
def test_the_page_answers_what_the_gate_of_the_api_answers(partitions: tuple[PartitionSeen, ...]) -> None:
    house = house_with(*partitions)
    browser = house.browser("ada", VIEWER)
    for told in house.client.get("/v1/clusters/orders/restart-check").json()["services"]:
        text = browser.get(f"/clusters/orders/brokers/{told['service_id']}").text
        word = '<span class="word good">Yes</span>' if told["safe"] else '<span class="word bad">No</span>'
        assert word in text
        for b in told["blocking"]:
            link = f"/clusters/orders/topics/{b['topic']}#p{b['partition']}"
            assert f'{link}"><code>{b["topic"]}-{b["partition"]}</code></a></th><td>{b["why"]}</td>' in text


def test_a_broker_waits_for_a_replica_elsewhere_that_is_behind() -> None:
    """A gate that looked at this broker's own min ISR alone would have said yes."""
    elsewhere = a_partition("behind-0", (1001, 1002), isr=(1001,), min_isr=1)
    text = page_of(house_with(FINE, elsewhere), 1000)
    assert "1 partitions are under-replicated, behind-0 among them" in text
    assert "topics/behind#p0" in text


def test_what_waiting_does_not_help_says_what_a_person_can_do() -> None:
    assert "list thin under rollout.allowUnavailable" in page_of(house_with(THIN))


def test_a_process_its_agent_calls_failed_is_in_the_way_whatever_kafka_says() -> None:
    house = house_with(FINE)
    report(house, 1002, "failed")
    text = page_of(house, 1000)
    assert "broker 1002 (brokers-c-0.g1, rack c) is away since" in text
    assert "UTC: failed (at most 1 at a time, by rollout.maxUnavailable)" in text


def test_metadata_that_is_too_old_gives_no_answer() -> None:
    text = page_of(house_with(FINE, age_s=181))
    assert "The metadata is too old. By it the answer was yes" in text
    assert ">Yes<" not in text


def test_a_broker_on_its_way_out_is_not_asked_about() -> None:
    house = house_with(FINE)
    house.record(facts.InstanceLost("brokers-a-0.g1", "terminated"))
    text = page_of(house)
    assert "Its VM is gone, so there is nothing to restart." in text
    assert ">Yes<" not in text


def test_findings_of_the_agent_are_shown_with_their_numbers() -> None:
    house = house_with(FINE)
    finding = {"name": "memory_leak", "since": START, "message": "<b>grows</b>", "numbers": {"rss_bytes": 2147483648}}
    report(house, 1000, findings=(finding,))
    text = page_of(house)
    assert "memory_leak" in text
    assert "&lt;b&gt;grows&lt;/b&gt;" in text
    assert 'rss_bytes <span class="mono">2147483648</span>' in text
    assert "Findings of its agent" not in page_of(house_with(FINE))


def test_a_cluster_in_which_an_agent_finds_something_is_healthy_on_no_page() -> None:
    house = house_with(FINE)
    house.record(facts.RecycleStarted(1, (), (), (), "born"), facts.RecycleCompleted(1))
    view = house.view()
    instance = next(i for i in view.brokers() if i.service_id == 1000)
    finding = {"name": "memory_leak", "since": START, "message": "it grows", "numbers": {}}
    for findings, word in (((), "Healthy"), ((finding,), "Degraded"), ((), "Healthy")):
        report = a_report(instance, received_at=house.now, findings=findings).report
        keep_report(house.latest, view.uid, instance.key, report, house.now)
        browser = house.browser("ada", VIEWER)
        for path in ("/", "/clusters/orders"):
            assert set(re.findall(r"Healthy|Degraded|Progressing", browser.get(path).text)) == {word}
        house.pass_time(seconds=31)
