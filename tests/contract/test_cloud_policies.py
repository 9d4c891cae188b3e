"""The least-privilege policies: the files are as the tables say, and the tables name what is really called.

Terraform's own calls are held to the same tables at the end of a life (tests/terraform; on AWS in soak), those for
networks that Kedge makes at the end of a network's.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from providers.aws import permissions as aws
from providers.azure import permissions as azure
from providers.console import TellsConsole
from providers.digitalocean import permissions as digitalocean
from providers.doctor import examine
from providers.errors import ProviderError
from providers.google import permissions as google
from providers.notices import TellsMaintenance
from providers.policies import FOLDER, policies
from providers.quota import TellsQuotas
from providers.upcloud import permissions as upcloud
from tests.contract.cloud_harnesses import HARNESSES, Harness
from tests.fakes.resources import instance, resources

UNMETERED = ("token", "GetCallerIdentity", "projects.testIamPermissions")
"""Sign-in, and questions about the caller itself: no permission is needed."""


@pytest.fixture(params=["aws", "azure", "digitalocean", "google", "upcloud"])
def lived(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Harness]:
    """Everything the SDK is used for, once; what a test's hands did before is not counted."""
    with HARNESSES[request.param](tmp_path, monkeypatch) as harness:
        harness.create(resources(instance("n-0"), instance("n-1")))
        calls_of(harness).clear()
        use(harness, tmp_path / f"{request.param}.yaml")
        yield harness


def use(harness: Harness, settings: Path) -> None:
    cloud, place, vm = harness.cloud, harness.place, harness.id_of("n-0.g1")
    cloud.list_place(place)
    cloud.describe(place, [vm])
    list(examine(cloud.name, settings, lambda: cloud))
    if isinstance(cloud, TellsMaintenance):
        cloud.notices(place)
    try:
        if isinstance(cloud, TellsConsole):
            cloud.console(place, vm)
    except ProviderError as error:
        assert "Boot diagnostics is not enabled" in str(error)  # noqa: PT017
    if isinstance(cloud, TellsQuotas):
        cloud.quotas(place)
    cloud.terminate(place, vm)


def called(harness: Harness) -> set[str]:
    return {what for what, n in calls_of(harness).items() if n and what not in UNMETERED}


def calls_of(harness: Harness) -> Counter[str]:
    (calls,) = (fake.calls for fake in vars(harness).values() if isinstance(getattr(fake, "calls", None), Counter))
    counted: Counter[str] = calls
    return counted


def test_every_call_of_ours_is_in_its_table(lived: Harness) -> None:
    tables = {
        "aws": {*aws.READS, *aws.MAKES, *aws.CHANGES, *(name.partition(":")[2] for name in aws.QUOTAS)},
        "azure": azure.OF_CALLS.keys(),
        "digitalocean": digitalocean.OF_CALLS.keys(),
        "upcloud": upcloud.OF_CALLS.keys(),
        "google": google.OF_METHODS.keys(),
    }
    assert called(lived) - tables[lived.cloud.name] == set()
    assert len(called(lived)) >= 6


@pytest.mark.parametrize("name", sorted(policies()))
def test_the_file_is_as_its_table_says(name: str) -> None:
    assert (FOLDER / name).read_text() == policies()[name], "run `python -m providers.policies`"


def test_no_file_is_left_over() -> None:
    assert {file.name for file in FOLDER.iterdir()} == policies().keys()


@pytest.mark.parametrize("name", ["aws.json", "aws-networks.json"])
def test_what_changes_something_on_aws_asks_for_the_tag(name: str) -> None:
    statements: Any = yaml.safe_load(policies()[name])["Statement"]
    for statement in statements:
        verbs = {action.partition(":")[2] for action in statement["Action"]}
        if any(v.startswith(("Delete", "Terminate", "Detach", "Stop", "Modify", "Attach", "Revoke")) for v in verbs):
            assert statement["Condition"] == {"StringLike": {"aws:ResourceTag/kedge-installation": "*"}}
        assert not any("*" in verb for verb in verbs)


def test_no_role_gives_more_than_it_names() -> None:
    for name in ("azure.json", "azure-networks.json", "google.yaml", "google-networks.yaml"):
        role = yaml.safe_load(policies()[name])
        given = role.get("Actions") or role["includedPermissions"]
        assert given == sorted(set(given))
        assert not any("*" in one for one in given)


def test_a_token_of_digitalocean_may_not_write_what_kedge_does_not() -> None:
    scopes = yaml.safe_load(policies()["digitalocean.yaml"])["scopes"]
    writing = {one.partition(":")[0] for one in scopes if not one.endswith(":read")}
    assert writing == {"droplet", "block_storage", "block_storage_action", "tag"}
    assert "tag:delete" not in scopes


def test_what_makes_no_network_may_not_open_or_remove_one() -> None:
    """Who has their networks themselves gives Kedge no right to change them."""
    assert not [one for one in azure.needed() if "virtualNetworks/write" in one or "networkSecurityGroups" in one]
    assert not [one for one in google.needed() if one.startswith(("compute.firewalls", "compute.networks"))]
    assert not {"vpc:create", "vpc:delete", "firewall:create", "firewall:update", "firewall:delete"} & {
        *digitalocean.needed()
    }
    given = {*aws.READS, *aws.MAKES, *aws.CHANGES}
    assert not [one for one in given if "SecurityGroup" in one and not one.startswith("Describe")]


def test_a_sub_account_of_upcloud_is_given_things_by_their_ids_only() -> None:
    granted = yaml.safe_load(policies()["upcloud.json"])["permissions"]["permission"]
    assert {one["target_type"] for one in granted} == {"network", "storage"}
    assert all("*" not in one["target_identifier"] for one in granted)


def test_a_star_and_what_is_taken_back_count_when_azure_is_asked_for_permissions() -> None:
    wanted = ("Microsoft.Compute/disks/read", "Microsoft.Compute/disks/delete")
    assert azure.lacking([{"actions": ["*"], "notActions": []}], wanted) == ()
    assert azure.lacking([{"actions": ["microsoft.compute/*"], "notActions": ["*/delete"]}], wanted) == wanted[1:]
    both = [{"actions": ["*/read"], "notActions": []}, {"actions": ["Microsoft.Compute/disks/*"]}]
    assert azure.lacking(both, wanted) == ()
    assert azure.lacking([], wanted) == wanted
