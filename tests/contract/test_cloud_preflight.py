"""What a surge asks before Terraform starts: may the credentials make it, and are there addresses? On each cloud that
tells it in a call or two; what it does not tell stands in nobody's way."""

from collections import Counter
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any

import pytest

from providers.base import Resources
from providers.errors import (
    AuthFailed,
    CloudUnavailable,
    NotFound,
    NotPermitted,
    ProviderError,
    QuotaExceeded,
    RateLimited,
)
from providers.finding import Finding
from providers.preflight import (
    ADDRESSES,
    PERMISSIONS,
    PreflightCheck,
    addresses_needed,
    check_ahead,
    check_successors,
    of_addresses,
    of_permissions,
)
from tests.contract.cloud_harnesses import HARNESSES, Harness
from tests.fakes.clouds.aws import DRY
from tests.fakes.clouds.faults import Fault
from tests.fakes.resources import address, binding, instance, resources, volume

CLOUDS = ("aws", "azure", "google", "hetzner")
TOO_MANY = {"aws": 5_000, "azure": 5_000, "hetzner": 101}


@pytest.fixture(params=CLOUDS)
def harness(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    with HARNESSES[request.param](tmp_path, monkeypatch) as opened:
        opened.cloud.list_place(opened.place)
        yield opened


def wanted(harness: Harness, count: int = 1) -> Resources:
    zone = harness.zone("a")
    return resources(*(instance(f"b-{n}", zone=zone) for n in range(count)), place=harness.place)


def ahead(harness: Harness, parts: Resources) -> list[str]:
    """What could not be learnt."""
    assert isinstance(harness.cloud, PreflightCheck)
    told: list[str] = []
    check_ahead(harness.cloud, parts, {f"instance/{i.key}" for i in parts.instances}, told.append)
    return told


def calls_of(harness: Harness) -> Counter[str]:
    (calls,) = (fake.calls for fake in vars(harness).values() if isinstance(getattr(fake, "calls", None), Counter))
    return Counter(calls)


def test_a_surge_nothing_is_in_the_way_of_asks_thrice_at_most_and_changes_nothing(harness: Any) -> None:
    before = calls_of(harness)
    assert ahead(harness, wanted(harness)) == []
    assert 1 <= (calls_of(harness) - before).total() <= 3
    assert harness.cloud.list_place(harness.place).instances == ()


def test_addresses_that_are_not_there_are_told_with_the_numbers(harness: Any) -> None:
    name = harness.cloud.name
    if name == "google":
        pytest.skip("does not apply: Google tells nobody how many addresses of a subnetwork are free")
    with pytest.raises(QuotaExceeded, match=rf"nothing was made\. .*: {TOO_MANY[name]} addresses are needed, \d+ are"):
        ahead(harness, wanted(harness, TOO_MANY[name]))


def _deny(harness: Any) -> str:
    match harness.cloud.name:
        case "aws":
            harness.aws.faults.append(Fault(f"RunInstances{DRY}", "UnauthorizedOperation", 403))
            return "ec2:RunInstances"
        case "azure":
            harness.azure.permissions = [{"actions": ["*"], "notActions": ["Microsoft.Compute/virtualMachines/write"]}]
            return "Microsoft.Compute/virtualMachines/write"
        case _:
            harness.google.denied = {"compute.instances.create"}
            return "compute.instances.create"


@pytest.mark.parametrize("harness", ["aws", "azure", "google"], indirect=True)
def test_credentials_that_may_not_make_a_vm_are_told_by_what_they_lack(harness: Any) -> None:
    lacks = _deny(harness)
    with pytest.raises(NotPermitted, match=rf"b-0\.g1; nothing was made\. the credentials lack {lacks}"):
        ahead(harness, wanted(harness))


@pytest.mark.parametrize("harness", ["azure", "google"], indirect=True)
def test_a_vm_that_goes_before_its_successor_comes_stays_where_nobody_may_make_one(harness: Any) -> None:
    leaving = {"instance/c-0.g1", "binding/c-0.g1"}
    before = calls_of(harness)
    check_successors(harness.cloud, wanted(harness), leaving, print)
    assert 1 <= (calls_of(harness) - before).total() <= 2
    lacks = _deny(harness)
    with pytest.raises(NotPermitted, match=rf"instance/c-0\.g1; nothing was deleted\. the credentials lack {lacks}"):
        check_successors(harness.cloud, wanted(harness), leaving, print)


ANSWERS_FAIL = pytest.mark.parametrize("harness", ["aws", "azure", "hetzner"], indirect=True)
"""Of Google's fake the question for permissions, which no permission guards, meets no fault."""


@ANSWERS_FAIL
def test_what_is_not_answered_stands_in_nobodys_way_and_is_told(harness: Any) -> None:
    harness.fail_once(CloudUnavailable)
    (told,) = ahead(harness, wanted(harness))
    assert str(harness.place) in told


@ANSWERS_FAIL
def test_a_throttle_is_waited_out(harness: Any) -> None:
    harness.fail_once(RateLimited)
    with pytest.raises(RateLimited):
        ahead(harness, wanted(harness))


@pytest.mark.parametrize("harness", ["aws"], indirect=True)
def test_a_dry_run_that_is_refused_for_something_else_says_nothing_of_permissions(harness: Any) -> None:
    harness.aws.faults.append(Fault(f"RunInstances{DRY}", "InvalidParameterValue", 400))
    (told,) = ahead(harness, wanted(harness))
    assert "permissions unknown" in told
    assert "InvalidParameterValue" in told


def test_permissions_nobody_tells_are_no_obstacle() -> None:
    def refused() -> list[str]:
        raise AuthFailed("its API is not enabled")

    (found,) = of_permissions(SURGE.place, refused)
    assert found.well is None
    assert "not enabled" in found.told


class Told:
    """A cloud of these findings."""

    def __init__(self, *findings: Finding, ends: ProviderError | None = None) -> None:
        self._findings, self._ends, self.asked = findings, ends, 0

    def look_ahead(self, wanted: Resources, new: Set[str]) -> Iterator[Finding]:
        self.asked += 1
        yield from self._findings
        if self._ends is not None:
            raise self._ends


SURGE = resources(instance("b-0"), volume("b-0"))
NEW = frozenset({"instance/b-0.g1", "volume/b-0.data.v1"})


@pytest.mark.parametrize("new", [frozenset[str](), frozenset({"volume/b-0.data.v1"})], ids=["nothing", "a volume"])
def test_a_run_that_makes_no_vm_asks_nothing(new: Set[str]) -> None:
    cloud = Told(Finding(PERMISSIONS, False, "none"))
    check_ahead(cloud, SURGE, new, print)
    assert cloud.asked == 0


def test_a_release_that_leaves_its_vm_standing_asks_nothing() -> None:
    cloud = Told(Finding(PERMISSIONS, False, "none"))
    check_successors(cloud, SURGE, frozenset({"attachment/c-0.g1.meta", "binding/c-0.g1"}), print)
    assert cloud.asked == 0


def test_all_that_is_in_the_way_is_told_at_once() -> None:
    lacks, full = Finding(PERMISSIONS, False, "lacks x"), Finding(ADDRESSES, False, "s: 2 addresses are needed, 1 free")
    with pytest.raises(NotPermitted, match=r"lacks x; s: 2 addresses"):
        check_ahead(Told(lacks, full), SURGE, NEW, print)


@pytest.mark.parametrize(
    "error", [AuthFailed("not yours"), NotPermitted("not this"), CloudUnavailable("500"), NotFound("no subnet")]
)
def test_what_was_learnt_before_the_silence_counts(error: ProviderError) -> None:
    told: list[str] = []
    check_ahead(Told(Finding(PERMISSIONS, None, "does not say"), ends=error), SURGE, NEW, told.append)
    assert [str(error) in line for line in told] == [False, True]
    with pytest.raises(QuotaExceeded, match="no room"):
        check_ahead(Told(Finding(ADDRESSES, False, "no room"), ends=error), SURGE, NEW, told.append)


@pytest.mark.parametrize(("bound_have_own", "needed"), [(True, 4), (False, 3)], ids=["as on AWS", "as on Azure"])
def test_a_node_that_owns_an_address_needs_one_beside_its_vms(bound_have_own: bool, needed: int) -> None:
    parts = resources(
        instance("b-0"), instance("b-1"), instance("c-0"), address("c-0"), binding("c-0", "c-0.g1"), address("c-1")
    )
    new = {"instance/b-0.g1", "instance/b-1.g1", "instance/c-0.g1", "address/c-0"}
    assert addresses_needed(parts, new, bound_have_own=bound_have_own) == {"a": needed}


def test_zones_of_one_network_share_its_addresses() -> None:
    (found,) = of_addresses({"a": ("net", 3), "b": ("net", 3), "c": ("other", 9)}, {"a": 2, "b": 2, "c": 9, "d": 99})
    assert (found.well, found.told) == (False, "net: 4 addresses are needed, 3 are free")
