"""A live value on the first broker: who that is, what is made of what happens to it, and what waits meanwhile."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import StartView
from controlplane.cluster.views.running_settings import SettingChangeView, SettingRefusal, SettingStage
from controlplane.converger.questions.services.applied_settings import config_to_make, settings_to_make
from controlplane.converger.situation.effects import SetSettings
from controlplane.converger.situation.observation import SettingsObserved
from controlplane.converger.situation.situation import Situation
from controlplane.converger.steps.running.live_settings import settings_in_hand_step, settings_step
from controlplane.converger.steps.running.setting_trial import canary_for, settings_watch_step
from events import facts
from planner.observed import KafkaSnapshot, PartitionSeen, SettingSeen, TopicPartition
from planner.rollout.live_step import LiveStep, SettingDeviation
from tests.builders import BEFORE, NODES, NOW, a_document, a_situation, a_snapshot, a_view, an_instance

OLD: Mapping[str, str] = {"num.io.threads": "8"}
WANTED = a_document(config=", config: {num.io.threads: 16}", join_deadline="60s")
ALL = (1000, 1001, 1002)
LIVE = {"num.io.threads": "16"}
STEP = LiveStep({}, {1000: {"num.io.threads": "16"}})
BACK = LiveStep({}, {1000: {"num.io.threads": None}})


def _cluster(change: SettingChangeView | None = None, **overrides: Any) -> ClusterView:
    there = (an_instance(node, start=StartView(born_with=OLD, config=OLD)) for node in NODES)
    return a_view(*there, document=WANTED, generation=2, setting_change=change, **overrides)


def _change(stage: SettingStage, *, since_s: float = 1.0, behind: int = 0) -> SettingChangeView:
    since = NOW - timedelta(seconds=since_s)
    return SettingChangeView(
        "c1", 2, LIVE, LIVE, LIVE, BEFORE, canary=1000, behind=behind, stage=stage, since=since, tried=(1000,)
    )


def _asked(stage: SettingStage, step: LiveStep, *, brokers: int = 3, says: str | None = None) -> SettingsObserved:
    there = range(1000, 1000 + brokers)
    running = {b: {"num.io.threads": SettingSeen("8")} for b in there}
    refusals: dict[int, str | None] = {b: says if b == 1000 else None for b in there}
    canary = None if stage is SettingStage.ALL else 1000
    return SettingsObserved(LIVE, False, running, (), step, refusals, stage=stage, canary=canary)


def _differ(*brokers: int, name: str = "num.io.threads") -> SettingsObserved:
    found = tuple(SettingDeviation(b, name, "8", "16", is_own=False) for b in brokers)
    return replace(_asked(SettingStage.ALL, LiveStep({name: "16"})), wanted={name: "16"}, deviations=found)


def _kafka(*, dead: tuple[int, ...] = (), behind: int = 0) -> KafkaSnapshot:
    """1000 is out of sync in so many partitions."""
    of_orders = (PartitionSeen(TopicPartition("t", n), 1000, ALL, ALL, 2) for n in range(3))
    whole = a_snapshot(*of_orders)
    late = [replace(p, isr=tuple(r for r in p.isr if r != 1000)) for p in whole.partitions[:behind]]
    brokers = {b: replace(seen, fenced=seen.fenced or b in dead) for b, seen in whole.brokers.items()}
    return replace(whole, brokers=brokers, partitions=(*late, *whole.partitions[behind:]))


def _on(stage: SettingStage, *, kafka: KafkaSnapshot | None = None, **change: Any) -> Situation:
    return a_situation(_cluster(_change(stage, **change)), kafka=kafka or _kafka())


def test_the_first_broker_by_rack_is_the_canary() -> None:
    situation = a_situation(_cluster(), kafka=_kafka(), settings=_differ(1000, 1001, 1002))
    decision = settings_step(situation)
    assert decision is not None
    (request,) = decision.events
    assert isinstance(request, facts.SettingsChangeRequested)
    assert (request.canary, request.behind) == (1000, 0)
    assert request.reason == "the spec says num.io.threads=16 (broker 1000 first, to be watched)"


@pytest.mark.parametrize(
    "seen",
    [_differ(1001), _differ(1000, 1001, 1002, name="min.insync.replicas")],
    ids=["the others have it already", "no broker takes it alone"],
)
def test_there_is_no_canary_where_nobody_is_spared(seen: SettingsObserved) -> None:
    assert canary_for(a_situation(_cluster(), kafka=_kafka()), seen) is None


def test_what_was_on_its_way_to_all_is_put_right_on_all() -> None:
    earlier = replace(_change(SettingStage.ALL), generation=1)
    assert canary_for(a_situation(_cluster(earlier), kafka=_kafka()), _differ(1000, 1001, 1002)) is None


def test_an_answer_to_another_question_sets_nothing() -> None:
    for_all = _asked(SettingStage.ALL, LiveStep(LIVE))
    situation = a_situation(_cluster(_change(SettingStage.CANARY)), kafka=_kafka(), settings=for_all)
    assert settings_in_hand_step(situation) is None
    of_another = replace(_asked(SettingStage.CANARY, LiveStep()), canary=1001)
    situation = a_situation(_cluster(_change(SettingStage.CANARY)), kafka=_kafka(), settings=of_another)
    assert settings_in_hand_step(situation) is None


def test_the_canary_alone_is_set_and_watched_once_it_has_been_read_back() -> None:
    view = _cluster(_change(SettingStage.CANARY))
    sent = settings_in_hand_step(a_situation(view, kafka=_kafka(), settings=_asked(SettingStage.CANARY, STEP)))
    assert sent is not None
    assert sent.effects == (SetSettings(STEP),)
    done = settings_in_hand_step(a_situation(view, kafka=_kafka(), settings=_asked(SettingStage.CANARY, LiveStep())))
    assert done is not None
    assert done.events == (facts.SettingsTried("c1"),)


def test_a_canary_that_refuses_a_step_is_taken_back() -> None:
    seen = _asked(SettingStage.CANARY, STEP, says="not that many")
    decision = settings_in_hand_step(a_situation(_cluster(_change(SettingStage.CANARY)), kafka=_kafka(), settings=seen))
    assert decision is not None
    assert decision.events == (facts.SettingsRevertRequested("c1", "it refuses num.io.threads=16: not that many"),)


def test_a_canary_that_falls_is_taken_back_and_one_nobody_can_ask_about_is_not() -> None:
    fallen = settings_in_hand_step(_on(SettingStage.WATCH, kafka=_kafka(dead=(1000,))))
    assert fallen is not None
    (request,) = fallen.events
    assert isinstance(request, facts.SettingsRevertRequested)
    assert request.reason.startswith("it fell while it was watched: ")
    unknown = a_situation(_cluster(_change(SettingStage.WATCH)), kafka=None, missing={"kafka": "no answer"})
    assert settings_in_hand_step(unknown) is None


def test_another_broker_that_falls_says_nothing_about_the_canary() -> None:
    assert settings_in_hand_step(_on(SettingStage.WATCH, kafka=_kafka(dead=(1001,)))) is None


def test_nothing_is_decided_before_the_soak_is_over() -> None:
    assert settings_in_hand_step(_on(SettingStage.WATCH, since_s=4)) is None
    stood = settings_in_hand_step(_on(SettingStage.WATCH, since_s=6))
    assert stood is not None
    assert stood.events == (facts.SettingsCanaryStood("c1"),)


def test_a_canary_that_came_back_on_another_vm_with_its_disk_is_watched_from_then_on() -> None:
    view = _cluster(_change(SettingStage.WATCH, since_s=90))
    back = replace(view.instances["brokers-a-0.g1"], since=NOW - timedelta(seconds=3))
    view = replace(view, instances={**view.instances, back.key: back})
    assert settings_in_hand_step(a_situation(view, kafka=_kafka())) is None


def test_replicas_that_lag_more_than_before_keep_the_others_waiting_and_then_end_it() -> None:
    lagging = _kafka(behind=2)
    assert settings_in_hand_step(_on(SettingStage.WATCH, kafka=lagging, since_s=6)) is None
    late = settings_in_hand_step(_on(SettingStage.WATCH, kafka=lagging, since_s=6 + 60))
    assert late is not None
    assert isinstance(late.events[0], facts.SettingsRevertRequested)
    as_before = settings_in_hand_step(_on(SettingStage.WATCH, kafka=lagging, since_s=6, behind=2))
    assert as_before is not None
    assert as_before.events == (facts.SettingsCanaryStood("c1"),)


def test_nothing_that_can_wait_begins_while_it_is_watched_but_a_loss_is_mended() -> None:
    watched = settings_watch_step(_on(SettingStage.WATCH))
    assert watched is not None
    assert watched.wait is not None
    assert watched.wait.reason == "Soak"
    lost = _cluster(_change(SettingStage.WATCH))
    gone = replace(lost.instances["brokers-b-0.g1"], lost_at=BEFORE)
    lost = replace(lost, instances={**lost.instances, gone.key: gone})
    assert settings_watch_step(a_situation(lost, kafka=_kafka())) is None


def test_a_change_without_a_canary_keeps_nothing_waiting() -> None:
    alone = replace(_change(SettingStage.ALL), canary=None, tried=())
    assert settings_watch_step(a_situation(_cluster(alone), kafka=_kafka())) is None


def test_another_broker_is_tried_where_the_canary_is_emptied() -> None:
    view = _cluster(_change(SettingStage.WATCH))
    leaving = replace(view.instances["brokers-a-0.g1"], phase=Phase.DRAINING)
    view = replace(view, instances={**view.instances, leaving.key: leaving})
    assert settings_in_hand_step(a_situation(view, kafka=_kafka())) is None
    other = canary_for(a_situation(view, kafka=_kafka()), _differ(1000, 1001, 1002))
    assert other is not None
    assert other.service_id == 1001


def _born_with_it(change: SettingChangeView, **overrides: Any) -> ClusterView:
    """Everybody who is there was made with the values of the spec, and the canary of the change is there no more."""
    there = (an_instance(node, start=StartView(born_with=LIVE, config=LIVE)) for node in NODES)
    change = replace(change, canary=999, tried=(999,))
    return a_view(*there, document=WANTED, generation=2, setting_change=change, **overrides)


@pytest.mark.parametrize("stage", [SettingStage.CANARY, SettingStage.WATCH])
def test_a_change_whose_canary_left_is_asked_for_again_though_all_others_were_born_with_it(stage: SettingStage) -> None:
    """It waited for that broker for ever: the roll that took it away had made all others with those values."""
    view = _born_with_it(_change(stage))
    assert settings_watch_step(a_situation(view, kafka=_kafka())) is None, "nothing is kept waiting for who left"
    asking = settings_step(a_situation(view, kafka=_kafka()))
    assert asking is not None
    assert asking.sentence == "asking the brokers whether they take num.io.threads=16"
    have_it = replace(_asked(SettingStage.ALL, LiveStep()), deviations=())
    again = settings_step(a_situation(view, kafka=_kafka(), settings=have_it))
    assert again is not None
    (request,) = again.events
    assert isinstance(request, facts.SettingsChangeRequested)
    assert (request.canary, request.live, request.change != "c1") == (None, LIVE, True)
    differs = settings_step(a_situation(view, kafka=_kafka(), settings=_differ(1000, 1001, 1002)))
    assert differs is not None
    assert isinstance(differs.events[0], facts.SettingsChangeRequested)
    assert differs.events[0].canary == 1000, "a default of the cluster says otherwise: another one tries it"


def test_a_revert_is_over_once_the_broker_has_nothing_of_its_own_and_waits_for_one_that_is_silent() -> None:
    view = _cluster(_change(SettingStage.REVERT))
    back = settings_in_hand_step(a_situation(view, kafka=_kafka(), settings=_asked(SettingStage.REVERT, BACK)))
    assert back is not None
    assert back.effects == (SetSettings(BACK),)
    whole = _asked(SettingStage.REVERT, LiveStep())
    silent = replace(whole, running={b: v for b, v in whole.running.items() if b != 1000})
    assert settings_in_hand_step(a_situation(view, kafka=_kafka(), settings=silent)) is None
    waits = settings_watch_step(a_situation(view, kafka=_kafka(), settings=silent))
    assert waits is not None
    assert "broker 1000, which does not answer now" in waits.sentence
    done = settings_in_hand_step(a_situation(view, kafka=_kafka(), settings=whole))
    assert done is not None
    assert done.events == (facts.SettingsReverted("c1"),)


def test_another_spec_waits_until_what_felled_the_canary_is_taken_back() -> None:
    """Tried at once on another broker, the first one would keep what it did not stand while that one is watched."""
    view = _cluster(replace(_change(SettingStage.REVERT), generation=1))
    asked = a_situation(view, kafka=_kafka(), settings=_differ(1000, 1001, 1002))
    assert settings_step(asked) is None
    back = settings_in_hand_step(a_situation(view, kafka=_kafka(), settings=_asked(SettingStage.REVERT, BACK)))
    assert back is not None
    assert back.effects == (SetSettings(BACK),)


def test_it_is_not_said_to_lag_while_nobody_can_be_asked() -> None:
    view = _cluster(_change(SettingStage.WATCH, since_s=600))
    decision = settings_watch_step(a_situation(view, kafka=None, missing={"kafka": "no broker answers"}))
    assert decision is not None
    assert decision.sentence.endswith("watching it until Kafka can be asked: no broker answers")


def test_no_change_begins_on_old_metadata() -> None:
    """Without it nobody could be the first, and all would get the values at once."""
    old = replace(_kafka(), at=NOW - timedelta(seconds=31))
    assert settings_step(a_situation(_cluster(), kafka=old, settings=_differ(1000, 1001, 1002))) is None


def test_a_person_is_told_what_was_taken_back_and_nothing_is_begun() -> None:
    refusal = SettingRefusal(1000, LIVE, "it fell while it was watched: failed", reverted=True)
    decision = settings_step(a_situation(_cluster(setting_refusal=refusal), kafka=_kafka()))
    assert decision is not None
    assert decision.wait is not None
    assert (decision.wait.reason, decision.wait.patience_s) == ("SettingReverted", 0)
    assert "no other broker was touched" in decision.sentence


@pytest.mark.parametrize(
    "state",
    [
        {"change": _change(SettingStage.WATCH)},
        {"setting_refusal": SettingRefusal(1000, LIVE, "it fell", reverted=True, names=("num.io.threads",))},
    ],
    ids=["tried", "taken back"],
)
def test_a_vm_made_meanwhile_has_what_is_in_force(state: dict[str, Any]) -> None:
    view = _cluster(**state)
    assert config_to_make(view, WANTED, "brokers") == {"num.io.threads": "8"}
    assert settings_to_make(view, WANTED, "brokers", {"num.io.threads": "16", "other": "x"}) == {
        "num.io.threads": "8",
        "other": "x",
    }
