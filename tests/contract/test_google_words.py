"""What Google refuses, in the words of Terraform's provider (its stand-in), arrives as one of the project's errors."""

import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from providers.errors import (
    AuthFailed,
    CloudUnavailable,
    NoCapacity,
    NotPermitted,
    NotYetGone,
    PlaceUnknown,
    ProviderError,
    QuotaExceeded,
    RateLimited,
    ResourceConflict,
)
from providers.google.errors import recognise
from tests.fakes.clouds.faults import Fault
from tests.fakes.clouds.google import GoogleFake, google_fake
from tests.fakes.clouds.google_hands import HOME
from tests.fakes.clouds.google_world import PROJECT
from tests.standins.google import open_stand_in
from tests.standins.kind import TroubleError

ZONE = f"{HOME}-b"
SUBNETWORK = f"projects/{PROJECT}/regions/{HOME}/subnetworks/kedge"
DISK = {"name": "data", "zone": ZONE, "type": "pd-balanced", "size": 10, "labels": {}}


@pytest.fixture
def google() -> Iterator[GoogleFake]:
    with google_fake() as fake:
        yield fake


def kinds(google: GoogleFake) -> Mapping[str, Any]:
    config = {"access_token": "ya29.x", "compute_custom_endpoint": f"{google.url}/compute/v1/", "project": PROJECT}
    return open_stand_in(config, threading.Event()).kinds


def machine(name: str = "vm", ip: str | None = None) -> dict[str, Any]:
    image = {"image": f"projects/{PROJECT}/global/images/kafka-1", "type": "pd-balanced"}
    return {
        "name": name,
        "zone": ZONE,
        "machine_type": "n2d-standard-2",
        "boot_disk": [{"auto_delete": True, "initialize_params": [image]}],
        "network_interface": [{"subnetwork": SUBNETWORK, "network_ip": ip}],
    }


def told(kind: Any, wanted: dict[str, Any]) -> ProviderError:
    """The typed error a create ends with."""
    with pytest.raises(TroubleError) as trouble:
        kind.create(wanted)
    found = recognise([f'{trouble.value.summary} (module.kedge.x.instance["b-0.g1"])'])
    assert found is not None, trouble.value.summary
    return found


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Fault("instances.insert", "rateLimitExceeded", 403, times=9), RateLimited),
        (Fault("instances.insert", "quotaExceeded", 403), QuotaExceeded),
        (Fault("instances.insert", "forbidden", 403), NotPermitted),
        (Fault("instances.insert", "invalid", 400), PlaceUnknown),
        (Fault("instances.insert", "backendError", 503, times=9), CloudUnavailable),
        (
            Fault(
                "instances.insert",
                "STOCKOUT",
                200,
                message="The zone 'z' does not have enough resources available to fulfill the request.",
            ),
            NoCapacity,
        ),
    ],
    ids=lambda value: value.code if isinstance(value, Fault) else "",
)
def test_a_refusal_has_one_meaning(google: GoogleFake, fault: Fault, kind: type[ProviderError]) -> None:
    google.faults.append(fault)
    assert type(told(kinds(google)["google_compute_instance"], machine())) is kind
    assert google.world.of("instances") == []


def test_a_quota_that_is_used_up_is_told_by_the_operation(google: GoogleFake) -> None:
    google.world.quota = 1
    kind = kinds(google)["google_compute_instance"]
    kind.create(machine("first"))
    assert type(told(kind, machine("second"))) is QuotaExceeded


def test_a_name_that_is_taken_is_a_conflict_and_no_second_vm(google: GoogleFake) -> None:
    kind = kinds(google)["google_compute_instance"]
    kind.create(machine())
    assert type(told(kind, machine())) is ResourceConflict
    assert len(google.world.of("instances")) == 1


def test_an_address_another_vm_has_is_not_free_yet(google: GoogleFake) -> None:
    kind = kinds(google)["google_compute_instance"]
    made = kind.create(machine("first", "10.0.0.9"))
    assert made["network_interface"][0]["network_ip"] == "10.0.0.9"
    assert type(told(kind, machine("second", "10.0.0.9"))) is NotYetGone


def test_a_disk_another_vm_has_is_not_free_yet(google: GoogleFake) -> None:
    known = kinds(google)
    disk = known["google_compute_disk"].create(DISK)["id"]
    first, second = (known["google_compute_instance"].create(machine(n))["id"] for n in ("first", "second"))
    tie = {"disk": disk, "device_name": "data-v1"}
    known["google_compute_attached_disk"].create(tie | {"instance": first})
    assert type(told(known["google_compute_attached_disk"], tie | {"instance": second})) is NotYetGone


def test_a_slow_operation_is_waited_for(google: GoogleFake) -> None:
    google.world.polls = 3
    kinds(google)["google_compute_disk"].create(DISK)
    assert google.calls["zoneOperations.get"] == 3


def test_no_credentials_are_refused_in_words(google: GoogleFake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOOGLE_OAUTH_ACCESS_TOKEN", raising=False)
    with pytest.raises(TroubleError) as trouble:
        open_stand_in({"project": PROJECT}, threading.Event())
    assert type(recognise([trouble.value.summary])) is AuthFailed
