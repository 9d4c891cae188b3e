"""What a cloud tells a VM alone, read from fake metadata services, and what the agent does before the date."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agent.preemption.clouds import MetadataSilent, PreemptionNotice
from agent.preemption.watch import PreemptionWatch, cloud_at
from agent.preemption.where import cloud_of
from agent.surroundings import AgentEnvironment
from agent.wire import PreemptionReport
from tests.fakes.metadata import FakeMetadata, metadata_server
from tests.unit.agent.loop_vm import Vm
from tests.unit.agent.wanted import broker, document

NOW = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)


@pytest.fixture
def metadata() -> Iterator[FakeMetadata]:
    with metadata_server() as fake:
        yield fake


def test_aws_tells_a_spot_vm_two_minutes_ahead(metadata: FakeMetadata) -> None:
    aws = cloud_at("aws", metadata.url)
    assert aws.look(NOW) is None
    metadata.rebalance = {"noticeTime": "2026-03-01T09:59:00Z"}
    assert aws.look(NOW) == PreemptionNotice("rebalance", None, "rebalance recommendation of 09:59:00 UTC")
    metadata.spot = {"action": "terminate", "time": "2026-03-01T10:02:00Z"}
    assert aws.look(NOW) == PreemptionNotice("preempt", NOW + timedelta(minutes=2), "spot terminate at 10:02:00 UTC")
    assert metadata.asked.count("PUT /latest/api/token") == 1


def test_a_token_that_is_over_is_asked_for_anew(metadata: FakeMetadata) -> None:
    aws = cloud_at("aws", metadata.url)
    aws.look(NOW)
    metadata.tokens.clear()
    assert aws.look(NOW) is None
    assert metadata.asked.count("PUT /latest/api/token") == 2


def test_google_gives_half_a_minute(metadata: FakeMetadata) -> None:
    google = cloud_at("google", metadata.url)
    assert google.look(NOW) is None
    metadata.preempted = "TRUE"
    assert google.look(NOW) == PreemptionNotice("preempt", NOW + timedelta(seconds=30), "preempted")


def test_azure_tells_of_other_vms_too_and_only_ones_own_counts(metadata: FakeMetadata) -> None:
    azure = cloud_at("azure", metadata.url)
    event = {"EventType": "Preempt", "Resources": ["vm-2"], "NotBefore": "Sun, 01 Mar 2026 10:00:30 GMT"}
    metadata.events = [event, {"EventType": "Reboot", "Resources": ["vm-1"], "NotBefore": ""}]
    assert azure.look(NOW) is None
    metadata.events.append({**event, "Resources": ["vm-3", "vm-1"]})
    assert azure.look(NOW) == PreemptionNotice("preempt", NOW + timedelta(seconds=30), "scheduled event Preempt")
    metadata.events = [{**event, "Resources": ["vm-1"], "NotBefore": ""}]  # it has begun
    assert azure.look(NOW) == PreemptionNotice("preempt", NOW, "scheduled event Preempt")


@pytest.mark.parametrize("cloud", ["aws", "google", "azure"])
def test_a_service_that_does_not_answer_says_nothing(cloud: str, metadata: FakeMetadata) -> None:
    metadata.away = True
    with pytest.raises(MetadataSilent):
        cloud_at(cloud, metadata.url).look(NOW)
    with pytest.raises(MetadataSilent):
        cloud_at(cloud, "http://127.0.0.1:1").look(NOW)


@pytest.mark.parametrize(
    ("cloud", "change"),
    [
        ("aws", {"spot": {"action": "stop"}}),
        ("aws", {"spot": {"action": "stop", "time": "soon"}}),
        ("google", {"preempted": "<html>"}),
        ("azure", {"events": [{"EventType": "Preempt"}]}),
        ("azure", {"events": [{"EventType": "Preempt", "Resources": ["vm-1"], "NotBefore": "soon"}]}),
    ],
)
def test_an_answer_that_makes_no_sense_is_none(cloud: str, change: dict[str, object], metadata: FakeMetadata) -> None:
    for name, value in change.items():
        setattr(metadata, name, value)
    with pytest.raises(MetadataSilent):
        cloud_at(cloud, metadata.url).look(NOW)


def test_what_was_announced_stays_so_through_a_silence_and_until_it_is_taken_back(metadata: FakeMetadata) -> None:
    now = [NOW]
    watch = PreemptionWatch(cloud_at("google", metadata.url), lambda: now[0])
    watch.look()
    before = watch.report
    assert before is None
    metadata.preempted = "TRUE"
    watch.look()
    first = PreemptionReport(kind="preempt", deadline=NOW + timedelta(seconds=30), since=NOW, words="preempted")
    assert watch.report == first
    for metadata.away in (True, False):
        now[0] += timedelta(seconds=5)
        watch.look()
        assert watch.report == first  # the date is that of the first look: it does not move away
    metadata.preempted = "FALSE"
    watch.look()
    assert watch.report is None


@pytest.mark.parametrize(
    ("firmware", "cloud"),
    [
        ({"sys_vendor": "Amazon EC2"}, "aws"),
        ({"sys_vendor": "Google", "product_name": "Google Compute Engine"}, "google"),
        (
            {"sys_vendor": "Microsoft Corporation", "chassis_asset_tag": "7783-7084-3265-9085-8269-3286-77"},
            "azure",
        ),
        ({"sys_vendor": "Microsoft Corporation"}, ""),
        ({"sys_vendor": "QEMU"}, ""),
        ({}, ""),
    ],
)
def test_the_firmware_tells_whose_machine_it_is(firmware: dict[str, str], cloud: str, tmp_path: Path) -> None:
    for name, word in firmware.items():
        (tmp_path / name).write_text(word + "\n")
    assert cloud_of(tmp_path) == cloud


class ToldVm(Vm):
    """One whose cloud tells it something."""

    told: PreemptionReport | None = None

    def start_agent(self, boot_id: str = "boot-1") -> None:
        super().start_agent(boot_id)
        around: AgentEnvironment = self.converger._a
        object.__setattr__(around, "preemption", lambda: self.told)

    def tell(self, *, kind: str = "preempt", in_s: float) -> None:
        now = self.clock.now()
        self.told = PreemptionReport(kind=kind, deadline=now + timedelta(seconds=in_s), since=now, words="spot")


@pytest.fixture
def vm(tmp_path: Path) -> ToldVm:
    vm = ToldVm(tmp_path)
    vm.serve(document(broker()))
    assert vm.settle().state == "running"
    return vm


def test_a_notice_is_reported_at_once_and_the_broker_serves_until_it_has_to_stop(vm: ToldVm) -> None:
    before = len(vm.reports)
    vm.tell(in_s=120)
    vm.converger.tick()
    assert len(vm.reports) == before + 1
    assert vm.reports[-1].preemption == vm.told
    assert vm.settle().state == "running"
    vm.clock.s += 80
    assert vm.settle().state == "stopping"
    assert vm.kafka.launches[0].signals == ["TERM"]
    assert not vm.converger.is_down  # the agent stays, and goes on reporting


def test_a_recommendation_stops_nothing(vm: ToldVm) -> None:
    vm.tell(kind="rebalance", in_s=1)
    assert vm.settle().state == "running"


def test_with_half_a_minute_the_broker_stops_at_once_and_it_is_not_recorded_as_stopped(vm: ToldVm) -> None:
    vm.tell(in_s=30)
    assert vm.settle().state == "stopping"
    assert vm.kafka.launches[0].signals == ["TERM"]
    assert vm.records.service("broker").end_of("s-1") is None


def test_a_vm_that_stays_after_all_serves_again(vm: ToldVm) -> None:
    vm.tell(in_s=30)
    vm.settle()
    vm.told = None
    assert vm.settle().state == "running"
    assert len(vm.kafka.launches) == 2
