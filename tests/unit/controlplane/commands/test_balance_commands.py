"""What people may ask of a rebalance, what is refused, and who asks when nobody does."""

from dataclasses import replace
from datetime import timedelta

import pytest

from controlplane.cluster.commands import CancelRebalance, CommandRefused, RebalanceCluster
from controlplane.cluster.view import ClusterView, EvacuationView
from controlplane.cluster.views.plans import PlanView, ProgressView
from controlplane.cluster.views.rebalances import BatchSpent, RebalanceView, spent_bytes
from controlplane.commands.deciders.lookups import NOTHING, Lookups
from controlplane.commands.deciders.rebalances import rebalance_asked, rebalance_cancelled, rebalance_progress
from controlplane.converger.questions.moves.rebalance_requests import asked_by_scale_up
from events import facts
from planner.rebalancing.choice import BalanceChoice
from tests.builders import BEFORE, NOW, a_document, a_partition, a_snapshot, a_view, an_instance

GIB = 1024**3
ASK = RebalanceCluster(name="orders", actor="person:anna", command_id="c1", reason="it grew")
CANCEL = CancelRebalance(name="orders", actor="person:anna", command_id="c2", reason="not now")
IN_HAND = RebalanceView(
    "rebalance-1",
    "person",
    "asked by anna",
    BEFORE,
    plan=PlanView("ab", batches=7, bytes=4 * GIB),
    progress=ProgressView(batch=1),
    begun_bytes=GIB,
)


def _kept_empty(*keys: str) -> dict[str, EvacuationView]:
    return {key: EvacuationView("asked by anna", BEFORE, BEFORE) for key in keys}


def test_a_person_may_ask_and_is_told_how_uneven_it_is() -> None:
    kafka = a_snapshot(*(a_partition(f"orders-{n}", (1000,)) for n in range(6)))
    asked = rebalance_asked(a_view(), ASK, Lookups(kafka=kafka))
    assert isinstance(asked.fact, facts.RebalanceRequested)
    assert (asked.fact.cause, asked.fact.reason) == ("person", "asked by anna: it grew")
    assert (asked.fact.threshold_percent, asked.fact.per_day_bytes, asked.fact.new_brokers) == (0.0, 0, ())
    assert asked.sentence.startswith(
        "replicas of orders will be spread over 3 brokers; imbalance by the metadata alone: "
    )


def test_goals_and_what_is_left_out_are_recorded_and_told() -> None:
    kafka = a_snapshot(*(a_partition(f"{topic}-0", (1000,)) for topic in ("orders", "audit")))
    choice = BalanceChoice(("racks", "leaders"), ("audit",), (1002,))
    asked = rebalance_asked(a_view(), replace(ASK, choice=choice), Lookups(kafka=kafka))
    assert isinstance(asked.fact, facts.RebalanceRequested)
    assert (asked.fact.goals, asked.fact.exclude_topics) == (("racks", "leaders"), ("audit",))
    assert asked.fact.exclude_brokers == (1002,)
    assert "by racks, leaders alone, without topics audit, nothing onto brokers 1002" in asked.sentence


def test_what_a_person_says_nothing_of_is_as_the_spec_has_it() -> None:
    spec = a_view(document=a_document(balance="goals: [racks, disk], excludeTopics: [audit], excludeBrokers: [1001]"))
    asked = rebalance_asked(spec, replace(ASK, choice=BalanceChoice(goals=("leaders",))), NOTHING)
    assert isinstance(asked.fact, facts.RebalanceRequested)
    terms = (asked.fact.goals, asked.fact.exclude_topics, asked.fact.exclude_brokers)
    assert terms == (("leaders",), ("audit",), (1001,))


@pytest.mark.parametrize(
    ("choice", "code", "words"),
    [
        (BalanceChoice(goals=("dsk",)), "unknown-goal", "there is broker-sets, racks, replica-capacity"),
        (BalanceChoice(exclude_topics=("order",)), "no-topic", "orders has no topic 'order'"),
        (BalanceChoice(exclude_brokers=(9,)), "no-broker", "orders has no broker 9"),
        (BalanceChoice(exclude_brokers=(1000, 1001, 1002)), "no-brokers", "nobody to move any to"),
    ],
)
def test_a_choice_of_what_is_not_there_is_refused(choice: BalanceChoice, code: str, words: str) -> None:
    known = Lookups(kafka=a_snapshot(a_partition("orders-0", (1000,))))
    with pytest.raises(CommandRefused, match=words) as refused:
        rebalance_asked(a_view(), replace(ASK, choice=choice), known)
    assert refused.value.code == code


def test_who_is_to_receive_cannot_be_excluded() -> None:
    both = replace(ASK, targets=(1001,), choice=BalanceChoice(exclude_brokers=(1001,)))
    with pytest.raises(CommandRefused, match="is to receive and is excluded"):
        rebalance_asked(a_view(), both, NOTHING)


def test_a_budget_is_recorded_and_told() -> None:
    asked = rebalance_asked(a_view(), replace(ASK, per_day_bytes=5 * GIB), NOTHING)
    assert isinstance(asked.fact, facts.RebalanceRequested)
    assert asked.fact.per_day_bytes == 5 * GIB
    assert "at most 5.0 GiB a day" in asked.sentence


def test_one_rebalance_at_a_time() -> None:
    with pytest.raises(CommandRefused, match=r"in hand: batch 2 of 7, 1.0 GiB of 4.0 GiB begun") as refused:
        rebalance_asked(a_view(rebalance=IN_HAND), ASK, NOTHING)
    assert refused.value.what_next == "To end it: kedge rebalance orders --cancel"


def test_a_cluster_with_one_broker_that_may_receive_is_refused() -> None:
    kept = a_view(evacuations=_kept_empty("brokers-a-0.g1", "brokers-b-0.g1"))
    with pytest.raises(CommandRefused, match="no two brokers that may receive replicas: 1002, 2 are kept empty"):
        rebalance_asked(kept, ASK, NOTHING)


def test_a_lost_broker_is_replaced_first() -> None:
    lost = a_view(replace(an_instance("brokers-a-0"), lost_at=BEFORE))
    with pytest.raises(CommandRefused, match=r"brokers-a-0.g1 is lost"):
        rebalance_asked(lost, ASK, NOTHING)


@pytest.mark.parametrize(
    ("view", "words"),
    [
        (a_view(recycling=1, converged=0), "the roll in hand"),
        (a_view(paused="lunch"), "the cluster goes on: kedge resume orders"),
        (a_view(), "broker 1002 is back"),
    ],
    ids=["roll", "pause", "broker down"],
)
def test_what_it_has_to_wait_for_is_told(view: ClusterView, words: str) -> None:
    kafka = a_snapshot(brokers=(1000, 1001), fenced=(1002,))
    assert rebalance_asked(view, ASK, Lookups(kafka=kafka)).sentence.endswith(f"; it begins after {words}")


def test_a_rebalance_is_cancelled_once() -> None:
    asked = rebalance_cancelled(a_view(rebalance=IN_HAND), CANCEL)
    assert asked.fact == facts.RebalanceCancelRequested("rebalance-1", "asked by anna: not now")
    assert "ends after the batch in hand: batch 2 of 7" in asked.sentence
    again = a_view(rebalance=replace(IN_HAND, cancelled="asked by anna: not now"))
    assert rebalance_cancelled(again, CANCEL).fact is None
    with pytest.raises(CommandRefused, match="no rebalance of orders is in hand"):
        rebalance_cancelled(a_view(), CANCEL)


def test_progress_before_there_is_a_plan_is_told_too() -> None:
    young = RebalanceView("rebalance-1", "person", "asked by anna", BEFORE)
    assert rebalance_progress(a_view(rebalance=young)) == "no plan yet"
    assert rebalance_progress(a_view(rebalance=replace(young, round=2))) == "planning round 2"


def _grown(**overrides: object) -> ClusterView:
    added = an_instance("brokers-a-1", 1, service_id=1003)
    return a_view(added, newcomers=("brokers-a-1.g1",), **overrides)


def test_brokers_that_were_added_are_due_their_share() -> None:
    asked = asked_by_scale_up(_grown(document=a_document(brokers=4, balance="perDayGib: 7, thresholdPercent: 30")))
    assert asked is not None
    assert (asked.cause, asked.new_brokers, asked.reason) == ("scale-up", (1003,), "broker 1003 joined")
    assert (asked.threshold_percent, asked.per_day_bytes) == (30.0, 7 * GIB)


def test_they_stay_empty_where_the_spec_says_never_or_a_rebalance_is_in_hand() -> None:
    assert asked_by_scale_up(_grown(document=a_document(brokers=4, balance="after: never"))) is None
    assert asked_by_scale_up(_grown(document=a_document(brokers=4), rebalance=IN_HAND)) is None
    assert asked_by_scale_up(a_view()) is None


def test_only_the_last_24_hours_count_against_a_days_budget() -> None:
    spent = (BatchSpent(NOW - timedelta(hours=25), 5), BatchSpent(NOW - timedelta(hours=23), 7), BatchSpent(NOW, 1))
    assert spent_bytes(spent, NOW) == 8
