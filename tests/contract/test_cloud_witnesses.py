"""What clouds tell of VMs beside their state: maintenance that is announced, and what one wrote to its console."""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from moto.ec2.models import ec2_backends

from providers.console import LAST_BYTES, TellsConsole
from providers.errors import CloudUnavailable, ProviderError
from providers.notices import MaintenanceNotice, NoticeKind, TellsMaintenance, earliest
from tests.contract.cloud_harnesses import HARNESSES, Harness
from tests.fakes.resources import instance, resources

START = datetime(2026, 12, 1, 3, 0, tzinfo=UTC)
END = START + timedelta(hours=4)
WITH_WITNESSES = ("aws", "azure", "google")
SILENT = ("digitalocean", "hetzner", "upcloud", "local")
"""`local` announces what a fault switch says, for tests, and has no console."""


@pytest.fixture(params=WITH_WITNESSES)
def harness(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Harness]:
    with HARNESSES[request.param](tmp_path, monkeypatch) as opened:
        opened.create(resources(*(instance(f"n-{i}") for i in range(3))))
        yield opened


def announce(harness: Any, key: str, **more: str) -> None:
    """As the cloud's own API has it."""
    vm = harness.id_of(key)
    match harness.cloud.name:
        case "aws":
            event = {"Code": "instance-retirement", "Description": "degraded", "NotBefore": START, "NotAfter": END}
            _moto(harness, vm).announced = [{**event, **more}]
        case "azure":
            harness.azure.things.by_id[vm.lower()]["announced"] = {
                "isCustomerInitiatedMaintenanceAllowed": True,
                "preMaintenanceWindowStartTime": "2026-11-23T00:00:00+00:00",
                "preMaintenanceWindowEndTime": f"{END:%Y-%m-%dT%H:%M:%S.0000000Z}",
                "maintenanceWindowStartTime": f"{START:%Y-%m-%dT%H:%M:%S.0000000Z}",
                "maintenanceWindowEndTime": f"{END:%Y-%m-%dT%H:%M:%SZ}",
            }
        case "google":
            machine = harness.machine(key)
            machine["scheduling"] = {"onHostMaintenance": "TERMINATE"}
            machine["resourceStatus"] = {
                "upcomingMaintenance": {
                    "type": "SCHEDULED",
                    "maintenanceStatus": "PENDING",
                    "windowStartTime": "2026-11-30T19:00:00.000-08:00",
                    "latestWindowStartTime": "2026-11-30T23:00:00.000-08:00",
                }
            }


def write(harness: Any, key: str, text: str) -> None:
    vm = harness.id_of(key)
    match harness.cloud.name:
        case "azure":
            thing = harness.azure.things.by_id[vm.lower()]
            thing["console"] = text
            thing["properties"]["diagnosticsProfile"] = {"bootDiagnostics": {"enabled": True}}
        case "google":
            harness.google.consoles[harness.machine(key)["name"]] = text


def _moto(harness: Any, vm: str) -> Any:
    return ec2_backends[harness.aws.account][harness.place.region].get_instance(vm)


def test_an_announcement_is_told_by_the_id_of_its_vm(harness: Harness) -> None:
    announce(harness, "n-1.g1")
    assert isinstance(harness.cloud, TellsMaintenance)
    told = dict(harness.cloud.notices(harness.place))
    assert told.keys() == {harness.id_of("n-1.g1")}
    (notice,) = told.values()
    assert (notice.kind, notice.not_before, notice.deadline) == (NoticeKind.STOP, START, END)
    assert notice.sentence.startswith("stop not before 2026-12-01 03:00 UTC")


def test_nothing_announced_is_nothing_told(harness: Harness) -> None:
    assert isinstance(harness.cloud, TellsMaintenance)
    assert dict(harness.cloud.notices(harness.place)) == {}


def test_many_vms_are_asked_about_in_one_listing(harness: Harness) -> None:
    assert isinstance(harness.cloud, TellsMaintenance)
    harness.cloud.list_place(harness.place)
    servers: Any = harness
    calls = getattr(servers, harness.cloud.name).calls
    before = calls.total()
    harness.cloud.notices(harness.place)
    assert calls.total() - before == 1


def test_an_event_that_is_over_is_no_announcement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with HARNESSES["aws"](tmp_path, monkeypatch) as aws:
        aws.create(resources(instance("n-0")))
        announce(aws, "n-0.g1", Description="[Completed] degraded")
        assert isinstance(aws.cloud, TellsMaintenance)
        assert dict(aws.cloud.notices(aws.place)) == {}


def test_a_cloud_that_does_not_answer_says_so(harness: Harness) -> None:
    assert isinstance(harness.cloud, TellsMaintenance)
    harness.cloud.list_place(harness.place)
    harness.fail_once(CloudUnavailable)
    with pytest.raises(CloudUnavailable):
        harness.cloud.notices(harness.place)


def test_a_vm_without_a_date_is_told_last() -> None:
    dated, undated = MaintenanceNotice(NoticeKind.STOP, START), MaintenanceNotice(NoticeKind.OTHER, None)
    assert earliest({"vm": [undated, dated], "none": []}) == {"vm": dated}
    assert earliest({"vm": [undated, undated]})["vm"].sentence == "other, no date given"


@pytest.mark.parametrize("cloud", ["azure", "google"])
def test_the_end_of_a_console_is_read_in_whole_lines(
    cloud: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with HARNESSES[cloud](tmp_path, monkeypatch) as opened:
        opened.create(resources(instance("n-0")))
        write(opened, "n-0.g1", "".join(f"line {i:06d} of the boot\n" for i in range(10_000)))
        assert isinstance(opened.cloud, TellsConsole)
        told = opened.cloud.console(opened.place, opened.id_of("n-0.g1"))
        assert len(told.encode()) <= LAST_BYTES
        assert told.endswith("line 009999 of the boot\n")
        assert cloud == "google" or re.fullmatch(r"line \d{6} of the boot", told.splitlines()[0])


def test_the_console_of_ec2_is_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with HARNESSES["aws"](tmp_path, monkeypatch) as aws:
        aws.create(resources(instance("n-0")))
        assert isinstance(aws.cloud, TellsConsole)
        assert "Linux version" in aws.cloud.console(aws.place, aws.id_of("n-0.g1"))


def test_a_vm_without_boot_diagnostics_has_no_console_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with HARNESSES["azure"](tmp_path, monkeypatch) as azure:
        azure.create(resources(instance("n-0")))
        assert isinstance(azure.cloud, TellsConsole)
        with pytest.raises(ProviderError, match="Boot diagnostics is not enabled"):
            azure.cloud.console(azure.place, azure.id_of("n-0.g1"))


def test_the_signed_address_of_a_log_is_in_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with HARNESSES["azure"](tmp_path, monkeypatch) as azure:
        azure.create(resources(instance("n-0")))
        write(azure, "n-0.g1", "text")
        servers: Any = azure
        answer: Callable[..., Any] = servers.azure.answer

        def refusing(method: str, path: str, headers: dict[str, str], body: bytes) -> Any:
            return (503, {}, b"") if path.startswith("/blobs/") else answer(method, path, headers, body)

        servers.azure.answering = refusing
        assert isinstance(azure.cloud, TellsConsole)
        with pytest.raises(CloudUnavailable, match="storage answered 503") as told:
            azure.cloud.console(azure.place, azure.id_of("n-0.g1"))
        assert "canary-signature" not in str(told.value)


@pytest.mark.parametrize("cloud", SILENT)
def test_a_cloud_that_tells_neither_does_not_pretend_to(
    cloud: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with HARNESSES[cloud](tmp_path, monkeypatch) as opened:
        assert cloud == "local" or not isinstance(opened.cloud, TellsMaintenance)
        assert not isinstance(opened.cloud, TellsConsole)
