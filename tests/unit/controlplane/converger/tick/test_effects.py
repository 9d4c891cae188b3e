"""Each effect reaches the port it is for, and none is carried out by a server that has lost its lease."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from pydantic import SecretStr

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.traffic import Traffic
from controlplane.cluster.views.intents import IntentView
from controlplane.cluster.views.rebalances import RebalanceView
from controlplane.converger.situation.effects import (
    AddVoter,
    CancelMoves,
    ChangeClientQuotas,
    ChangeTopics,
    ChangeUsers,
    ClearThrottles,
    Effect,
    ElectPreferred,
    FixClusterId,
    ForgetMigration,
    PreferLogDirs,
    PutEnsembleContent,
    PutKedgeRights,
    RaiseFeature,
    ReadConsole,
    Reassign,
    ReelectController,
    ReleaseRestartLock,
    RemoveVoter,
    SetCordons,
    SetLogDirsThrottle,
    SetProducerQuota,
    SetSettings,
    SetThrottle,
    StartBalancing,
    StartPlanning,
    StartRun,
    TakeRestartLock,
    TerminateInstance,
    Unregister,
)
from controlplane.converger.situation.passwords import PasswordToSet
from controlplane.converger.situation.ports import Ports, ZooKeeperPorts
from controlplane.converger.tick.act import carry_out
from controlplane.kafka.errors import KafkaRefused
from controlplane.kafka.throttle import ThrottlePlan
from controlplane.kafka.zookeeper.content import EnsembleContent
from controlplane.storage.lease import LostLeadership
from events.ids import Epoch
from planner.observed import TopicPartition
from planner.rights.step import RightsStep, UserStep
from planner.rollout.live_step import LiveStep
from planner.topics.step import TopicStep
from tests.builders import BEFORE, NOW, a_drain, a_partition, a_situation, a_snapshot, a_view, an_instance

NAME = TopicPartition("orders", 0)
DRAIN = a_drain()
VIEW = a_view(
    an_instance("brokers-a-0", 1, Phase.DRAINING),
    an_instance("brokers-a-0", 2),
    drain=DRAIN,
    intents={"i": IntentView("i", "retire", ("brokers-a-0.g1",), BEFORE)},
)


@dataclass
class Outside:
    """Every port at once: remembers what was asked of it."""

    asked: list[tuple[str, Any]] = field(default_factory=list)
    answers: dict[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.asked.append((name, (*args, *kwargs.values())))
            return self.answers.get(name)

        return call

    def ports(self) -> Ports:
        port: Any = self
        return Ports(
            store=port,
            jobs=port,
            plans=port,
            latest=port,
            inventory=port,
            runner=port,
            kafka=lambda _view: port,
            boot_data=lambda *_: "boot",
            installation_id="test",
            clock=lambda: BEFORE,
            epoch=lambda: Epoch(7),
            passwords=port,
            kedge_rights=port,
            zookeeper=ZooKeeperPorts(
                fix_cluster_id=port.fix_cluster_id,
                forget_migration=port.forget_migration,
                put_content=port.put_content,
                restart_lock=port,
            ),
        )


def _carried_out(effect: Effect, **answers: Any) -> tuple[Outside, str]:
    outside = Outside(answers=answers)
    kafka = a_snapshot(a_partition("orders-0"), brokers=(1000, 1001, 1002, 1010))
    return outside, carry_out(effect, a_situation(VIEW, kafka=kafka), outside.ports())


PASSWORD = {"alice": PasswordToSet(1, 8195)}
CHANGES_USERS = ["keep_only", "of", "change_user_rights"]
EFFECTS: list[tuple[Effect, list[str]]] = [
    (StartRun("i", "i.0"), ["terraform"]),
    (StartPlanning(DRAIN, "job"), ["planning"]),
    (StartBalancing(RebalanceView("r", "person", "asked", NOW), "job"), ["balancing"]),
    (TerminateInstance("brokers-a-0.g1", "vm-1"), ["terminate"]),
    (ReadConsole("brokers-a-0.g1"), ["put"]),
    (Reassign({NAME: (1, 2, 3)}), ["reassign"]),
    (PreferLogDirs({1010: {NAME: "/a"}}), ["prefer_log_dirs"]),
    (CancelMoves((NAME,)), ["cancel"]),
    (SetThrottle(ThrottlePlan()), ["set_throttle"]),
    (ClearThrottles(), ["clear_throttles"]),
    (SetCordons((1000,), (1001,)), ["set_cordons"]),
    (SetLogDirsThrottle({1000: 5, 1001: None}), ["set_log_dirs_throttle"]),
    (SetProducerQuota(5_000_000.0), ["set_producer_quota"]),
    (ChangeClientQuotas("c-1", {(("user", None),): {"producer_byte_rate": 5}}), ["change_client_quotas"]),
    (Unregister(1000), ["unregister_broker"]),
    (AddVoter(103, "dir", "10.0.0.3", 9093), ["add_voter"]),
    (RemoveVoter(100, "dir"), ["remove_voter"]),
    (ReelectController(1000, 3), ["reelect_controller"]),
    (ElectPreferred((NAME,)), ["elect_preferred"]),
    (RaiseFeature("metadata.version", 29), ["update_feature", "update_feature"]),
    (SetSettings(LiveStep({"num.io.threads": "8"})), ["change_settings"]),
    (ChangeTopics(TopicStep(delete=("old",))), ["change_topics"]),
    (ChangeUsers("c", RightsStep({"alice": UserStep("alice", credential="set")}), PASSWORD), CHANGES_USERS),
    (PutKedgeRights(), ["put_right"]),
    (FixClusterId("kafka-id"), ["fix_cluster_id"]),
    (ForgetMigration(), ["forget_migration"]),
    (PutEnsembleContent(EnsembleContent("owners", True, "CN=kedge-node", "B2")), ["put_content"]),
    (TakeRestartLock("3 services to restart"), ["take"]),
    (ReleaseRestartLock(), ["release"]),
]


@pytest.mark.parametrize(
    ("effect", "calls"), EFFECTS, ids=lambda x: type(x).__name__ if not isinstance(x, list) else ""
)
def test_an_effect_reaches_its_port(effect: Effect, calls: list[str]) -> None:
    answers: dict[str, Any] = {"of": {"alice": SecretStr("given")}, "change_user_rights": {}}
    outside, refused = _carried_out(effect, reassign={}, cancel={}, change_topics={}, take="", put_right="", **answers)
    assert ([name for name, _ in outside.asked], refused) == (calls, "")


@pytest.mark.parametrize("effect", [e for e, _ in EFFECTS], ids=lambda e: type(e).__name__)
def test_no_effect_without_the_lease(effect: Effect) -> None:
    outside = Outside()

    def lost() -> Epoch:
        raise LostLeadership("another one leads")

    with pytest.raises(LostLeadership):
        carry_out(effect, a_situation(VIEW), replace(outside.ports(), epoch=lost))
    assert outside.asked == []


def test_every_effect_there_is_has_a_port() -> None:
    assert {type(e) for e, _ in EFFECTS} == set(Effect.__args__)  # type: ignore[attr-defined]


def test_a_level_is_asked_for_before_it_is_raised() -> None:
    outside, _ = _carried_out(RaiseFeature("metadata.version", 29))
    assert [args[-1] for _, args in outside.asked] == [True, False]


def test_what_kafka_refuses_is_said_in_its_words() -> None:
    _, refused = _carried_out(Reassign({NAME: (1, 2, 3)}), reassign={NAME: "no such broker 3"})
    assert refused == "Kafka refused 1 partitions, orders-0: no such broker 3"


def test_an_election_that_kafka_refuses_stops_nothing_else_and_is_said() -> None:
    class Refusing(Outside):
        def elect_preferred(self, _: object) -> int:
            raise KafkaRefused(what="electing", where="orders", words="denied", error="ClusterAuthorizationFailedError")

    refused = carry_out(ElectPreferred((NAME,)), a_situation(VIEW), Refusing().ports())
    assert refused == "Kafka refused to elect leaders: denied (ClusterAuthorizationFailedError)"


def test_a_cancel_that_kafka_refuses_stops_nothing_else_and_is_said() -> None:
    class Refusing(Outside):
        def cancel(self, _: object) -> dict[TopicPartition, str]:
            raise KafkaRefused(
                what="cancelling", where="orders", words="denied", error="ClusterAuthorizationFailedError"
            )

    refused = carry_out(CancelMoves((NAME,)), a_situation(VIEW), Refusing().ports())
    assert refused == "Kafka refused to take moves back: denied (ClusterAuthorizationFailedError)"


def test_a_run_carries_the_epoch_it_was_started_under() -> None:
    outside, _ = _carried_out(StartRun("i", "i.0"))
    assert outside.asked[0][1][-1] == 7


def test_what_the_planner_is_asked_fits_the_brokers_that_live() -> None:
    outside, _ = _carried_out(StartPlanning(DRAIN, "job"))
    request = outside.asked[0][1][1]
    assert (request.outgoing, request.targets, dict(request.successors)) == ((1000,), (1001, 1002, 1010), {1000: 1010})
    assert request.bandwidth.bytes_per_s > 0


def test_the_planner_is_told_what_is_written_and_how_that_is_known() -> None:
    outside = Outside()
    traffic = Traffic({NAME: 1234.5}, at=NOW, over_s=30)
    situation = a_situation(VIEW, kafka=a_snapshot(a_partition("orders-0")), traffic=traffic)
    carry_out(StartPlanning(DRAIN, "job"), situation, outside.ports())
    request = outside.asked[0][1][1]
    assert request.cluster.write_bytes_per_s.tolist() == [1235]
    assert request.write_rates_from == "growth of the leaders' logs over 30 s, 0 s old"
