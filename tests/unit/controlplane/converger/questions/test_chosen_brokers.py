"""A rebalance onto brokers a person chose: who may be chosen, who is told why not, who receives when some have left."""

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest

from controlplane.cluster.commands import CommandRefused, RebalanceCluster
from controlplane.cluster.folds.rebalances import RULES
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView, EvacuationView
from controlplane.cluster.views.healing import DemotionView
from controlplane.cluster.views.instances import InstanceView
from controlplane.cluster.views.rebalances import RebalanceTerms, RebalanceView
from controlplane.cluster.views.running_settings import ReplaceView
from controlplane.commands.deciders.lookups import Lookups
from controlplane.commands.deciders.rebalances import rebalance_asked
from controlplane.commands.previews.moves import placement_of, refuse_moved
from controlplane.converger.questions.chosen_receivers import takers
from controlplane.converger.questions.moves.rebalance_requests import rebalance_request
from events import facts
from tests.builders import BEFORE, NOW, a_document, a_partition, a_situation, a_snapshot, a_view, an_instance

ALL = (1000, 1001, 1002, 1003, 1004, 1005)
KAFKA = a_snapshot(*(a_partition(f"orders-{n}") for n in range(6)), brokers=ALL)
ASK = RebalanceCluster(name="orders", actor="person:anna", command_id="c1", reason="it grew", targets=(1004, 1003))
LOST = replace(an_instance("brokers-b-1", 1), lost_at=BEFORE)


def six(*instances: InstanceView, **overrides: object) -> ClusterView:
    """Six brokers that serve, two a rack; `instances` are put in their places."""
    added = (an_instance(f"brokers-{rack}-1", 1) for rack in "abc")
    return a_view(*added, *instances, **{"document": a_document(brokers=6), **overrides})


def asked(view: ClusterView, *targets: int) -> facts.RebalanceRequested:
    fact = rebalance_asked(view, replace(ASK, targets=targets), Lookups(kafka=KAFKA)).fact
    assert isinstance(fact, facts.RebalanceRequested)
    return fact


def in_hand(*chosen: int, cause: str = "person") -> RebalanceView:
    return RebalanceView("rebalance-1", cause, "asked by anna", BEFORE, RebalanceTerms(chosen))


def demoted(ended: str = "") -> Mapping[str, DemotionView]:
    return {"brokers-b-1.g1": DemotionView(1004, "a slow disk", BEFORE, ended=ended)}


# --- asking -------------------------------------------------------------------------------------------------------


def test_those_that_are_chosen_are_recorded_once_each_in_order_and_named_in_the_answer() -> None:
    answer = rebalance_asked(six(), replace(ASK, targets=(1004, 1003, 1004)), Lookups(kafka=KAFKA))
    assert isinstance(answer.fact, facts.RebalanceRequested)
    assert (answer.fact.cause, answer.fact.new_brokers) == ("person", (1003, 1004))
    assert (
        "replicas of orders will move onto 1003, 1004 and no other broker; imbalance by the metadata alone:"
        in answer.sentence
    )


def test_without_any_every_broker_may_receive_as_before() -> None:
    assert asked(six()).new_brokers == ()


@pytest.mark.parametrize(
    ("view", "target", "why"),
    [
        (six(), 1009, "orders has no such broker"),
        (six(), 100, "orders has no such broker"),
        (
            six(evacuations={"brokers-b-1.g1": EvacuationView("asked by bob: noises", BEFORE)}),
            1004,
            "brokers-b-1.g1 is kept empty (asked by bob: noises)",
        ),
        (six(demotions=demoted()), 1004, "brokers-b-1.g1 is demoted (a slow disk), it is to lead nothing"),
        (six(LOST), 1004, "the VM of brokers-b-1.g1 is gone"),
        (six(an_instance("brokers-b-1", 1, Phase.LAUNCHED)), 1004, "brokers-b-1.g1 is launched: it is on its way in"),
        (six(document=a_document(brokers=5)), 1005, "brokers-c-1.g1 leaves: the spec in force, or a person"),
        (six(document=a_document(brokers=6, version="4.2.0")), 1004, "brokers-b-1.g1 leaves"),
        (six(to_replace={"brokers-b-1.g1": ReplaceView("noises", False, BEFORE)}), 1004, "brokers-b-1.g1 leaves"),
    ],
    ids=["unknown", "a controller", "kept empty", "demoted", "lost", "joining", "removed", "rolled", "replaced"],
)
def test_one_that_cannot_receive_is_refused_with_the_reason_and_the_choice_there_is(
    view: ClusterView, target: int, why: str
) -> None:
    with pytest.raises(CommandRefused) as refused:
        rebalance_asked(view, replace(ASK, targets=(target,)), Lookups(kafka=KAFKA))
    assert refused.value.code == "not-a-target"
    assert str(refused.value).startswith(f"broker {target} cannot receive: {why}")
    assert str(target) not in re.findall(r"\d+", refused.value.what_next)


def test_a_broker_of_somebody_else_is_told_as_one() -> None:
    kafka = a_snapshot(brokers=(*ALL, 7))
    with pytest.raises(CommandRefused, match="broker 7 cannot receive: it is registered in Kafka, and none of Kedge's"):
        rebalance_asked(six(), replace(ASK, targets=(7,)), Lookups(kafka=kafka))


def test_a_broker_whose_id_passes_on_with_its_disk_may_be_chosen_while_it_is_replaced() -> None:
    kept = a_document(brokers=6, strategy="reattach", max_unavailable=1)
    asked_for = {"brokers-b-1.g1": ReplaceView("noises", False, BEFORE)}
    assert asked(six(document=kept, to_replace=asked_for), 1004).new_brokers == (1004,)
    emptied = {"brokers-b-1.g1": ReplaceView("noises", True, BEFORE)}
    with pytest.raises(CommandRefused, match="broker 1004 cannot receive"):
        asked(six(document=kept, to_replace=emptied), 1004)


def test_one_that_may_lead_again_may_be_chosen() -> None:
    assert asked(six(demotions=demoted(ended="fast again")), 1004).new_brokers == (1004,)


def test_somebody_has_to_be_left_to_give() -> None:
    with pytest.raises(CommandRefused, match="no broker is left to send") as refused:
        asked(six(), *ALL)
    assert refused.value.code == "nobody-gives"


# --- what a yes is bound to ---------------------------------------------------------------------------------------


def test_a_yes_holds_for_the_brokers_that_were_chosen_whatever_their_order() -> None:
    seen = placement_of(six(), KAFKA, ASK)
    refuse_moved(six(), KAFKA, replace(ASK, targets=(1003, 1004), only_while=seen))
    for other in ((1003,), (), (1003, 1005)):
        with pytest.raises(CommandRefused, match="what is asked for or in force") as refused:
            refuse_moved(six(), KAFKA, replace(ASK, targets=other, only_while=seen))
        assert refused.value.code == "plan-moved"


def test_the_digest_of_one_without_targets_is_what_it_was_before_there_were_any() -> None:
    """Proposals that wait while the server is brought up to date stay what was agreed to."""
    digest = placement_of(a_view(), a_snapshot(a_partition("orders-0")), replace(ASK, targets=(), per_day_bytes=5))
    assert digest.startswith("0989f5a5dafc-")


# --- while it is in hand ------------------------------------------------------------------------------------------


def test_the_fold_keeps_who_was_chosen_and_new_brokers_are_no_choice() -> None:
    view = RULES[facts.RebalanceRequested](six(), asked(six(), 1003, 1004), NOW)
    assert view.moves.rebalance is not None
    assert (view.moves.rebalance.chosen, view.moves.rebalance.onto) == ((1003, 1004), " onto 1003, 1004")
    grown = in_hand(1003, cause="scale-up")
    assert (grown.chosen, grown.onto) == ((), "")


def test_of_those_chosen_the_ones_that_are_left_receive_and_never_another_one() -> None:
    left = six(LOST)
    assert takers(left, in_hand(1003, 1004)) == {1003}
    assert takers(left, in_hand(1004)) == frozenset()
    assert takers(left, in_hand(1003, 1004, cause="scale-up")) == {1000, 1001, 1002, 1003, 1005}
    assert takers(six(demotions=demoted()), in_hand(1003, 1004)) == {1003}
    request = rebalance_request(a_situation(left, kafka=KAFKA), in_hand(1003, 1004), KAFKA)
    assert request.new == (1003,)
    with pytest.raises(ValueError, match="none of the brokers onto 1004 can receive"):
        rebalance_request(a_situation(left, kafka=KAFKA), in_hand(1004), KAFKA)


def test_where_a_new_broker_is_gone_everybody_is_looked_at_as_before() -> None:
    situation = a_situation(six(), kafka=KAFKA)
    assert rebalance_request(situation, in_hand(1003, cause="scale-up"), KAFKA).new == (1003,)
    assert rebalance_request(situation, in_hand(1003, 1009, cause="scale-up"), KAFKA).new == ()
