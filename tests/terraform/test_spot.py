"""Pre-emptible VMs on the clouds that have them: made as such, told as such, and gone when the cloud takes them back.

AWS with the vendor's provider and moto, Google and Azure with stand-ins. Soak: that VMs are made so is part of the
lives on Google and Azure, that a VM taken by its cloud is gone by its word of the contract suite, and that a run
forgets what is gone of test_terraform_runs.py.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qsl

import pytest

from providers.aws.permissions import CHANGES, MAKES, QUOTAS, READS
from providers.base import InstanceState, Resources, RunKind
from tests.fakes.clouds.aws import DRY, action_of
from tests.fakes.clouds.aws_hands import REGION, AwsHarness
from tests.fakes.clouds.azure_hands import AzureHarness
from tests.fakes.resources import attachment, instance, resources, run, surge, targets, volume
from tests.terraform.awslife import aws_bench
from tests.terraform.azurelife import azure_bench
from tests.terraform.cloudbench import CloudBench
from tests.terraform.googlelife import GoogleBench, google_bench

pytestmark = [pytest.mark.soak, pytest.mark.terraform, pytest.mark.timeout(600)]


class Hands(Protocol):
    def here(self, wanted: Resources) -> Resources: ...
    def power_cut(self, vm_id: str) -> None: ...


Opened = tuple[CloudBench, Hands, Callable[[str], dict[str, Any]]]
"""A bench, what fate does there, and what the cloud itself says of how the VM with an id was bought."""


@contextmanager
def on_aws(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    with aws_bench(folder, monkeypatch) as bench:
        bench.aws.calls.clear()  # what its settings were made with
        told: list[dict[str, str]] = []

        def listening(method: str, path: str, headers: dict[str, str], body: bytes) -> Any:
            asked = dict(parse_qsl(body.decode()))
            told.extend([asked] if action_of(asked) == "RunInstances" else [])
            return bench.aws.answer(method, path, headers, body)

        bench.aws.answering = listening

        def bought(vm_id: str) -> dict[str, Any]:
            ec2 = bench.aws.client(REGION)
            quotas = (action.partition(":")[2] for action in QUOTAS)
            known = {*READS, *MAKES, *CHANGES, *quotas, "GetCallerIdentity", f"RunInstances{DRY}"}
            assert {*bench.aws.calls} <= known, "docs/clouds/policies/aws.json"
            found = ec2.describe_instances(InstanceIds=[vm_id])["Reservations"]
            (machine,) = [m for reservation in found for m in reservation["Instances"]]
            market = {f"{k}={v}" for one in told for k, v in one.items() if k.startswith("InstanceMarketOptions")}
            return {"lifecycle": machine.get("InstanceLifecycle"), "asked": sorted(market)}

        yield bench, AwsHarness(bench.cloud, bench.aws), bought


@contextmanager
def on_google(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    with google_bench(folder) as bench:
        yield bench, bench.hands, lambda _: _scheduling(bench)


def _scheduling(bench: GoogleBench) -> dict[str, Any]:
    return dict(bench.hands.machine("b-0.g1")["scheduling"])


@contextmanager
def on_azure(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Opened]:
    with azure_bench(folder, monkeypatch) as bench:

        def bought(vm_id: str) -> dict[str, Any]:
            told = bench.azure.by_hand("GET", vm_id)["properties"]
            return {k: told.get(k) for k in ("priority", "evictionPolicy", "billingProfile")}

        yield bench, AzureHarness(bench.cloud, bench.azure), bought


Open = Callable[[Path, pytest.MonkeyPatch], AbstractContextManager[Opened]]

CLOUDS: dict[str, tuple[Open, dict[str, Any]]] = {
    "aws": (
        on_aws,
        {
            "lifecycle": "spot",
            "asked": [
                "InstanceMarketOptions.MarketType=spot",
                "InstanceMarketOptions.SpotOptions.InstanceInterruptionBehavior=terminate",
                "InstanceMarketOptions.SpotOptions.SpotInstanceType=one-time",
            ],
        },
    ),
    "google-stand-in": (
        on_google,
        {
            "provisioningModel": "SPOT",
            "preemptible": True,
            "automaticRestart": False,
            "onHostMaintenance": "TERMINATE",
            "instanceTerminationAction": "DELETE",
        },
    ),
    "azure-stand-in": (
        on_azure,
        {"priority": "Spot", "evictionPolicy": "Delete", "billingProfile": {"maxPrice": -1}},
    ),
}

PARTS = (instance("b-0", spot=True), volume("b-0"), attachment("b-0.g1", "b-0.data.v1"))
KEPT = (instance("b-1"),)


@pytest.fixture(params=CLOUDS)
def cloud(request: pytest.FixtureRequest) -> tuple[Open, dict[str, Any]]:
    return CLOUDS[str(request.param)]


def test_a_pre_emptible_vm_lives_and_is_lost_like_any_other(
    cloud: tuple[Open, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, asked = cloud
    with opened(tmp_path, monkeypatch) as (bench, hands, bought):
        wanted = hands.here(resources(*PARTS, *KEPT))
        bench.execute(surge(wanted))
        assert {i.key: i.spot for i in bench.listing().instances} == {"b-0.g1": True, "b-1.g1": False}
        lost = bench.vm("b-0.g1").id
        assert bought(lost) == asked
        again = bench.execute(surge(wanted))
        assert (again.changed, frozenset(again.done_before)) == ((), targets(wanted))

        # Taken back by the cloud: gone by its own word, the disk is still there, and the next run forgets the VM.
        hands.power_cut(lost)
        assert bench.cloud.describe(wanted.place, [lost]) == {lost: InstanceState.GONE}
        assert {v.key for v in bench.listing().volumes} == {"b-0.data.v1"}
        retire = run(
            RunKind.RETIRE,
            wanted,
            deletes={"volume/b-0.data.v1"},
            forget={"instance/b-0.g1", "attachment/b-0.g1.data"},
            intent="run-2",
        )
        assert "volume/b-0.data.v1" in bench.execute(retire).changed
        assert [i.key for i in bench.listing().instances] == ["b-1.g1"]
