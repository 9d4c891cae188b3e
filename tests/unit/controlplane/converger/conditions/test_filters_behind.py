"""VMs whose packet filter is not that of their network: who, since when, why, and what to do."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from agent.wire import PacketFilterReport
from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.observed.agent_reports import ReportSeen
from controlplane.cluster.view import ClusterView, ConditionView
from controlplane.cluster.views.instances import InstanceView
from controlplane.converger.conditions.changes import condition_changes
from controlplane.converger.conditions.lasting_troubles import LOOK_EVERY, PATIENCE
from controlplane.converger.conditions.packet_filters import (
    FILTER_BEHIND,
    FilterWatch,
    filters_condition,
)
from controlplane.converger.situation.decision import Decision
from tests.builders import BEFORE, NOW, a_report, a_situation, a_view, an_instance

VIEW = a_view()
OLD, NEW = "the rules of its birth", "the rules of now"
B0 = "brokers-a-0.g1"


def loaded(text: str, problem: str = "") -> PacketFilterReport:
    return PacketFilterReport(loaded=hashlib.sha256(text.encode()).hexdigest() if text else "", problem=problem)


def reports(told: PacketFilterReport | None, of: ClusterView = VIEW, key: str = B0) -> dict[str, ReportSeen]:
    """Every agent has loaded what it should, but the one of `key`, which tells that."""
    found = {i.key: a_report(i) for i in of.alive()}
    said = {k: told if k == key else loaded(NEW) for k in found}
    return {
        k: replace(seen, report=seen.report.model_copy(update={"packet_filter": said[k]})) for k, seen in found.items()
    }


def looked(told: PacketFilterReport | None, *, for_s: float = 180.0, view: ClusterView = VIEW) -> Mapping[str, str]:
    """What a watch knows after that long with those reports."""
    watch = FilterWatch(lambda view, instance: NEW)
    seen: Mapping[str, str] | None = None
    for second in range(0, int(for_s) + 1, 10):
        seen = watch.look(view, NOW + timedelta(seconds=second), lambda: reports(told, view))
    assert seen is not None
    return seen


def test_a_vm_that_has_loaded_the_rules_of_now_is_not_behind() -> None:
    assert looked(loaded(NEW)) == {}


def test_a_vm_with_older_rules_is_behind_once_its_agent_had_the_time_to_load_others() -> None:
    assert looked(loaded(OLD), for_s=PATIENCE.total_seconds() - 10) == {}
    assert looked(loaded(OLD)) == {B0: "it has not loaded those of now"}


def test_what_an_agent_could_not_load_is_told_in_its_words() -> None:
    assert looked(loaded("", "nft is not on this VM: its image needs it")) == {
        B0: "nft is not on this VM: its image needs it"
    }


def test_an_agent_that_knows_of_no_filter_has_the_rules_of_its_birth() -> None:
    (why,) = looked(None).values()
    assert "loads none, it has the rules of its birth" in why


def test_a_vm_that_has_not_joined_or_never_reported_is_nobodys_to_tell() -> None:
    young = an_instance("brokers-a-0", phase=Phase.LAUNCHED)
    assert looked(loaded(OLD), view=a_view(young)) == {}
    watch = FilterWatch(lambda view, instance: NEW)
    for second in (0, 200, 400):
        assert watch.look(VIEW, NOW + timedelta(seconds=second), dict) == {}


def test_reports_are_read_once_a_minute_and_not_at_all_where_no_vm_filters() -> None:
    reads: list[int] = []

    def read() -> dict[str, ReportSeen]:
        reads.append(1)
        return reports(loaded(NEW))

    watch = FilterWatch(lambda view, instance: NEW)
    for second in range(0, int(LOOK_EVERY.total_seconds()) * 3, 5):
        watch.look(VIEW, NOW + timedelta(seconds=second), read)
    assert len(reads) == 3
    unfiltered = FilterWatch(lambda view, instance: "")
    assert unfiltered.look(VIEW, NOW, read) is None
    assert len(reads) == 3


def test_a_vm_of_another_cloud_beside_is_left_out() -> None:
    def rules(view: ClusterView, instance: InstanceView) -> str:
        return NEW if instance.key == "brokers-b-0.g1" else ""

    watch = FilterWatch(rules)
    seen: Mapping[str, str] | None = None
    for second in (0, 60, 120, 180):
        seen = watch.look(VIEW, NOW + timedelta(seconds=second), lambda: reports(loaded(OLD)))
    assert seen == {}


def test_the_condition_names_the_vm_why_and_what_to_do_and_ends_when_it_has_followed() -> None:
    told = filters_condition(a_situation(VIEW, filters_behind=looked(loaded(OLD))))
    assert told is not None
    assert (told.type, told.status, told.reason) == (FILTER_BEHIND, True, "OlderRules")
    assert f"{B0}: it has not loaded those of now" in told.message
    assert told.message.endswith("Next: kedge replace orders brokers-a-0")

    known = ConditionView(told.status, told.reason, told.message, BEFORE)
    had = replace(VIEW, conditions={**VIEW.conditions, FILTER_BEHIND: known})
    changes = condition_changes(a_situation(had, filters_behind={}), Decision("at rest"))
    assert [(c.type, c.status) for c in changes if c.type == FILTER_BEHIND] == [(FILTER_BEHIND, False)]


def test_where_nobody_filters_nothing_is_said_but_that_it_is_over() -> None:
    assert filters_condition(a_situation(VIEW)) is None
    known = ConditionView(True, "OlderRules", "x", BEFORE)
    told = filters_condition(a_situation(replace(VIEW, conditions={FILTER_BEHIND: known})))
    assert told is not None
    assert not told.status
