"""Topics as the last metadata has them: counted, searched, drawn; and what is said when nothing is known."""

import csv
import io
import re
from dataclasses import replace
from datetime import timedelta
from html import unescape

import pytest

from controlplane.api.access.bindings import Binding
from controlplane.api.access.roles import Role
from controlplane.api.read_models.topics import chosen_topics, partition_rows, topic_rows
from controlplane.portal.topics import MOST_ROWS
from controlplane.storage.latest_values import LatestValue, Subject
from planner.observed import PartitionSeen
from tests.builders import a_partition, a_snapshot
from tests.unit.controlplane.api.portal_house import START, House
from tests.unit.controlplane.portal.test_portal_roles_matrix import house_with_orders

VIEWER = Binding("", Role.VIEWER, "*")
FINE = a_partition("payments-0", size_bytes=3_000_000)
BEHIND = a_partition("payments-1", isr=(1000, 1001), size_bytes=2_000_000)
BELOW = a_partition("payments-2", isr=(1000,), size_bytes=0)
HEADLESS = a_partition("audit-0", (1001,), isr=(), leader=-1, min_isr=1)
MOVING = a_partition("clicks-0", (1000, 1001, 1002), isr=(1000, 1001), adding=(1002,), removing=(1001,))


def house_with(*partitions: PartitionSeen) -> House:
    house = house_with_orders()
    house.snapshots[house.view().uid] = a_snapshot(*partitions, at=START - timedelta(seconds=7))
    return house


def test_a_topic_is_counted_over_its_partitions() -> None:
    rows = {r.name: r for r in topic_rows(a_snapshot(FINE, BEHIND, BELOW, HEADLESS, MOVING))}
    payments = rows["payments"]
    assert (payments.partitions, payments.replicas, payments.most_replicas) == (3, 3, 3)
    assert (payments.under_replicated, payments.under_min_isr, payments.offline) == (2, 1, 0)
    assert payments.size_bytes == 5_000_000
    assert (rows["audit"].offline, rows["audit"].under_min_isr, rows["audit"].min_isr) == (1, 1, 1)
    assert (rows["clicks"].moving, rows["clicks"].replicas, rows["clicks"].under_replicated) == (1, 2, 0)


def test_the_counts_are_those_of_the_snapshot_itself() -> None:
    snapshot = a_snapshot(FINE, BEHIND, BELOW, HEADLESS, MOVING)
    rows = topic_rows(snapshot)
    assert sum(r.under_replicated for r in rows) == len(snapshot.under_replicated())
    assert sum(r.under_min_isr for r in rows) == len(snapshot.under_min_isr())
    assert sum(bool(r.out_of_sync) for r in partition_rows(snapshot)) == len(snapshot.under_replicated())


def test_spread_skew_and_preferred_leaders_of_a_topic_are_shares() -> None:
    first = a_partition("a-0", (1000, 1001), leader=1000)
    second = a_partition("a-1", (1000, 1002), leader=1002)
    third = a_partition("a-2", (1000, 1001), leader=-1, isr=())
    snapshot = a_snapshot(first, second, third, a_partition("b-0", (1002,)))
    assert len(snapshot.brokers) == 3
    a, b = topic_rows(snapshot)
    assert a.preferred_share == pytest.approx(1 / 3), "one is led by another replica, one by nobody"
    assert (a.spread, a.skew) == (1.0, pytest.approx(1 / 3)), "1000 holds three of six, an even share is two"
    assert (b.preferred_share, b.spread, b.skew) == (1.0, pytest.approx(1 / 3), 0.0)
    (apart,) = topic_rows(a_snapshot(a_partition("c-0", (1000, 1001)), a_partition("c-1", (1001, 1000), leader=1001)))
    assert (apart.spread, apart.skew) == (pytest.approx(2 / 3), 0.0), "a broker without it makes nobody's share larger"
    (recorded, _) = topic_rows(replace(snapshot, brokers={}))
    assert (recorded.spread, recorded.skew) == (a.spread, a.skew), "without a list of brokers, of those that hold any"
    assert [r.name for r in chosen_topics((a, b), text="", sort="skew", down=True)] == ["a", "b"]


def test_a_size_nobody_told_is_unknown_and_an_empty_log_is_nought() -> None:
    silent = replace(FINE, size_bytes=0)
    assert topic_rows(a_snapshot(silent, log_dirs={}))[0].size_bytes is None
    assert topic_rows(a_snapshot(silent))[0].size_bytes == 0
    rows = topic_rows(a_snapshot(silent, a_partition("audit-0"), log_dirs={}))
    assert [r.name for r in chosen_topics(rows, text="", sort="size_bytes", down=True)] == ["audit", "payments"]


def test_topics_are_sorted_by_a_column_and_then_by_name() -> None:
    rows = topic_rows(a_snapshot(FINE, BEHIND, HEADLESS, MOVING))
    assert [r.name for r in chosen_topics(rows, text="", sort="partitions", down=True)] == [
        "payments",
        "audit",
        "clicks",
    ]
    assert [r.name for r in chosen_topics(rows, text=" PAY", sort="name", down=False)] == ["payments"]
    assert [r.name for r in chosen_topics(rows, text="", sort="no such", down=True)] == ["payments", "clicks", "audit"]


@pytest.mark.parametrize(
    ("partition", "word", "missing"),
    [
        (FINE, "in sync", ()),
        (BEHIND, "out of sync", (1002,)),
        (BELOW, "below min ISR", (1001, 1002)),
        (HEADLESS, "no leader", (1001,)),
        (MOVING, "moving", ()),
    ],
)
def test_a_partition_is_said_in_one_word_and_its_missing_replicas_are_named(
    partition: PartitionSeen, word: str, missing: tuple[int, ...]
) -> None:
    (row,) = partition_rows(a_snapshot(partition))
    assert (row.word, row.out_of_sync) == (word, missing)
    assert row.ails == (word not in ("in sync", "moving"))


def test_what_arrives_says_how_much_of_it_is_there() -> None:
    told = replace(MOVING, arrived_bytes=(400,))
    assert partition_rows(a_snapshot(told))[0].arriving == ((1002, 400),)
    assert partition_rows(a_snapshot(MOVING))[0].arriving == ((1002, None),)


def test_the_table_shows_counts_and_the_age_of_the_metadata() -> None:
    text = house_with(FINE, BEHIND).browser("ada", VIEWER).get("/clusters/orders/topics").text
    assert 'href="/clusters/orders/topics/payments"' in text
    assert '<span class="word warn">1</span>' in text
    assert "7 s ago" in text


def test_topics_that_were_not_read_are_not_called_none() -> None:
    browser = house_with_orders().browser("ada", VIEWER)
    for path in ("/clusters/orders/topics", "/clusters/orders/topics/payments"):
        answer = browser.get(path)
        assert (answer.status_code, "Kafka was not read yet" in answer.text) == (200, True)
        assert "has no topic" not in answer.text
    assert browser.get("/clusters/orders/topics.csv").status_code == 409


def test_a_cluster_without_topics_says_so() -> None:
    assert "The cluster has no topic." in house_with().browser("ada", VIEWER).get("/clusters/orders/topics").text


def test_more_topics_than_one_page_has_follow_on_others_in_the_same_order_with_the_same_filter() -> None:
    names = [f"clicks-{n:04d}" for n in range(MOST_ROWS + 2)]
    browser = house_with(*(a_partition(f"{name}-0") for name in names), FINE).browser("ada", VIEWER)
    first = browser.get("/clusters/orders/topics?q=clicks&sort=name&down=true").text
    assert (f"1 to {MOST_ROWS} of {len(names)}" in first, 'rel="prev"' in first) == (True, False)
    (after,) = re.findall(r'rel="next" href="([^"]+)"', first)
    second = browser.get(unescape(after)).text
    assert f"{MOST_ROWS + 1} to {len(names)} of {len(names)}" in second
    assert re.findall(r'<th scope="row"><a href="/clusters/orders/topics/([\w-]+)"', second) == [names[1], names[0]]
    assert 'rel="next"' not in second
    (before,) = re.findall(r'rel="prev" href="([^"]+)"', second)
    assert names[-1] in browser.get(unescape(before)).text


def test_a_page_behind_the_last_one_is_the_first() -> None:
    text = house_with(FINE).browser("ada", VIEWER).get("/clusters/orders/topics?skip=1000").text
    assert "/clusters/orders/topics/" in text
    assert "More topics" not in text


def test_the_csv_of_topics_has_every_match_with_plain_figures() -> None:
    answer = house_with(FINE, BEHIND, HEADLESS).browser("ada", VIEWER).get("/clusters/orders/topics.csv?q=pay")
    (row,) = csv.DictReader(io.StringIO(answer.text))
    assert (row["name"], row["under_replicated"], row["size_bytes"]) == ("payments", "1", "5000000")


def test_a_topic_links_its_brokers_and_names_the_missing_in_words() -> None:
    text = house_with(FINE, BEHIND).browser("ada", VIEWER).get("/clusters/orders/topics/payments").text
    assert 'href="/clusters/orders/brokers/1000"' in text
    assert "✕ <a" in text
    assert "out of sync" in text


def test_a_replica_in_sync_is_not_drawn_like_one_that_is_missing() -> None:
    """The link inside it once had the class that strikes the missing ones through."""
    browser = house_with(FINE, BEHIND).browser("ada", VIEWER)
    for path in ("topics/payments", "brokers/1000"):
        text = browser.get(f"/clusters/orders/{path}").text
        drawn_out = re.findall(r'class="(?:\w+ )*out(?: \w+)*"[^>]*>(?:<a [^>]*>)?(\d+)', text)
        assert set(drawn_out) == {"1002"}


def test_a_broker_that_has_no_page_is_not_linked() -> None:
    foreign = a_partition("payments-0", (1000, 77))
    text = house_with(foreign).browser("ada", VIEWER).get("/clusters/orders/topics/payments").text
    assert "brokers/77" not in text
    assert "77" in text


def test_the_partitions_that_ail_can_be_shown_alone() -> None:
    browser = house_with(FINE, BEHIND).browser("ada", VIEWER)
    text = browser.get("/clusters/orders/topics/payments?ailing=true").text
    assert ('id="p1"' in text, 'id="p0"' in text) == (True, False)


def test_the_partitions_that_ail_of_all_topics_are_listed_together_the_worst_first() -> None:
    own = a_partition("__consumer_offsets-4", isr=(1000, 1001))
    browser = house_with(FINE, own, BEHIND, BELOW, HEADLESS, MOVING).browser("ada", VIEWER)
    text = browser.get("/clusters/orders/topics?ailing=true").text
    listed = re.findall(r'/topics/([^"#]+)#p(\d+)"', text)
    assert listed == [("audit", "0"), ("payments", "2"), ("__consumer_offsets", "4"), ("payments", "1")]
    assert "partitions not in sync 4" in text
    assert "clicks" not in text, "what moves and lacks nobody does not ail"
    narrowed = browser.get("/clusters/orders/topics?ailing=true&q=PAY").text
    assert re.findall(r'/topics/([^"#]+)#p(\d+)"', narrowed) == [("payments", "2"), ("payments", "1")]
    assert "2 of 4" in narrowed


def test_more_partitions_that_ail_than_one_page_has_follow_on_others_with_the_same_filter() -> None:
    many = [a_partition(f"clicks-{n}", isr=(1000, 1001)) for n in range(MOST_ROWS + 2)]
    browser = house_with(*many, BELOW, HEADLESS).browser("ada", VIEWER)
    first = browser.get("/clusters/orders/topics?ailing=true&q=clicks&state=out+of+sync").text
    assert (f"1 to {MOST_ROWS} of {len(many)}" in first, 'rel="prev"' in first) == (True, False)
    (after,) = re.findall(r'rel="next" href="([^"]+)"', first)
    second = browser.get(unescape(after)).text
    assert re.findall(r'/topics/([^"#]+)#p(\d+)"', second) == [("clicks", "500"), ("clicks", "501")]
    (before,) = re.findall(r'rel="prev" href="([^"]+)"', second)
    assert 'rel="prev"' not in browser.get(unescape(before)).text
    behind = browser.get("/clusters/orders/topics?ailing=true&q=clicks&skip=1000").text
    assert f"1 to {MOST_ROWS} of {len(many)}" in behind


def test_the_partitions_that_ail_can_be_narrowed_to_those_of_one_word() -> None:
    browser = house_with(BEHIND, BELOW, HEADLESS).browser("ada", VIEWER)
    text = browser.get("/clusters/orders/topics?ailing=true&q=pay").text
    ways = {word: unescape(way) for way, word in re.findall(r'href="([^"]+)"[^>]*>([^<>]+) \d+</a>', text)}
    assert {"all", "no leader", "below min ISR", "out of sync"} <= {*ways}
    assert ("no leader 0" in text, "below min ISR 1" in text, "out of sync 1" in text) == (True, True, True)
    narrowed = browser.get(ways["below min ISR"]).text
    assert re.findall(r'/topics/([^"#]+)#p(\d+)"', narrowed) == [("payments", "2")]
    assert "out of sync 1" in narrowed
    every = browser.get("/clusters/orders/topics?ailing=true&state=no+such").text
    assert len(re.findall(r'#p\d+"', every)) == 3


def test_the_counts_of_overview_fleet_and_topics_lead_to_the_partitions_that_ail() -> None:
    browser = house_with(FINE, BEHIND, HEADLESS).browser("ada", VIEWER)
    for path in ("/", "/clusters/orders", "/clusters/orders/topics"):
        assert 'href="/clusters/orders/topics?ailing=true"' in browser.get(path).text, path
    assert "partitions not in sync 2" in browser.get("/clusters/orders/topics").text


def test_where_nothing_ails_it_says_so_and_no_count_leads_there() -> None:
    browser = house_with(FINE, MOVING).browser("ada", VIEWER)
    assert "Every partition of the cluster has its leader" in browser.get("/clusters/orders/topics?ailing=true").text
    for path in ("/", "/clusters/orders"):
        assert "ailing=true" not in browser.get(path).text, path


def test_partitions_that_ail_are_not_called_none_where_kafka_was_not_read() -> None:
    text = house_with_orders().browser("ada", VIEWER).get("/clusters/orders/topics?ailing=true").text
    assert "Kafka was not read yet" in text


def test_a_topic_that_is_not_there_is_not_found() -> None:
    answer = house_with(FINE).browser("ada", VIEWER).get("/clusters/orders/topics/nothing")
    assert answer.status_code == 404
    assert "no topic called nothing" in answer.text


LEARNS = """
apiVersion: kedge/v1alpha1
kind: KafkaTopic
metadata: {name: payments}
spec: {cluster: orders, partitions: 3, rate: {learn: true}}
"""


def test_what_was_learned_of_a_rate_is_on_its_page_and_in_the_api() -> None:
    house = house_with(FINE, BEHIND)
    house.apply(LEARNS)
    browser = house.browser("ada", VIEWER)

    def told() -> str:
        answer = house.client.get("/v1/clusters/orders/topics/payments").json()
        assert answer["declared"]["rate_learn"]
        assert f"rate {answer['learned_rate']}" in browser.get("/clusters/orders/topics/payments").text
        return str(answer["learned_rate"])

    assert told() == "not learned yet: 0 of 7 days of this hour are known"
    days = [START.date() - timedelta(days=ago) for ago in range(9, 0, -1)]
    value = {"days": [{"day": day.isoformat(), "per_s": [160.0] * 12} for day in days]}
    subject = Subject("topic-rates-12", house.view().uid, "payments")
    house.latest.put(LatestValue(subject, value, "kafka", START))
    assert told() == "learned from 9 days: 120 to 200 records/s at this hour of the day"
    (listed,) = house.client.get("/v1/clusters/orders/topics").json()["topics"]
    assert listed["learned_rate"] == ""


def test_a_topic_that_learns_nothing_says_nothing_of_it() -> None:
    house = house_with(FINE)
    house.apply(LEARNS.replace("learn: true", "min: 7"))
    text = house.browser("ada", VIEWER).get("/clusters/orders/topics/payments").text
    assert "rate 7 to any records/s" in text
    assert "learned" not in text


def test_case_07_topics_of_other_programs_are_shown_and_those_of_kafka_and_kedge_on_request() -> None:
    names = ("__debezium-heartbeat.shop", "__consumer_offsets", "__kedge_logs", "__newer_than_this", "payments")
    snapshot = a_snapshot(*(a_partition(f"{n}-0") for n in names), internal=frozenset({"__newer_than_this"}))
    rows = topic_rows(snapshot)
    shown = chosen_topics(rows, text="", sort="name", down=False, internal=False)
    assert [r.name for r in shown] == ["__debezium-heartbeat.shop", "payments"]
    assert len(chosen_topics(rows, text="", sort="name", down=False)) == 5
