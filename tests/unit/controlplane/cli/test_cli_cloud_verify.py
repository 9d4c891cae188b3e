"""`kedge cloud verify`: a walk that passes, walks that fail at each stage, killed ones, and nothing left of any."""

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from typer.testing import Result

from controlplane.api.schemas.costs import BillOut, MoneyOut, PlanCostOut
from controlplane.api.schemas.doctor import FindingOut
from controlplane.cli.cloud_verify.bound import cost_bound
from controlplane.cli.cloud_verify.report import VerifyReport
from controlplane.cli.cloud_verify.stages import Ending, StageResult, VerifyStage
from controlplane.cli.cloud_verify.trial import TrialCluster
from controlplane.cluster.wait_reasons import NEXT
from events.spec.document import load_documents
from tests.unit.controlplane.cli.cli_world import START, World, detail
from tests.unit.controlplane.cli.trial_installation import NAME, Killed, TrialInstallation

PLACE = ("--cloud", "hetzner", "--account", "production", "--region", "eu-central", "--zone", "fsn1")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def verify(world: World, installation: TrialInstallation, *more: str) -> Result:
    return world.run("cloud", "verify", *PLACE, *more, "-y", transport=httpx.MockTransport(installation))


def endings(result: Result) -> dict[str, str]:
    return {one["stage"]: one["ended"] for one in json.loads(result.stdout)["stages"]}


def test_a_walk_that_passes_tells_each_stage_and_leaves_nothing(world: World) -> None:
    installation = TrialInstallation()
    result = verify(world, installation, "-o", "json")
    assert result.exit_code == 0, result.output
    assert endings(result) == {str(stage): "passed" for stage in VerifyStage}
    assert installation.left == []
    assert "cost: at most 0.08 EUR in 1 h" in result.stderr
    assert [path for method, path in installation.requests if method == "POST"].count(f"/clusters/{NAME}/replace") == 2


def test_where_a_network_is_ones_own_none_is_made_and_none_removed(world: World) -> None:
    result = verify(world, installation := TrialInstallation(makes_network=False), "-o", "json")
    assert result.exit_code == 0, result.output
    assert endings(result)["network"] == "left out"
    assert not any("networks/" in path for _, path in installation.requests)


@pytest.mark.parametrize(
    ("stuck", "stage"), [("network", "network"), ("requested", "VMs"), ("launched", "agents"), ("enrolled", "broker")]
)
def test_what_never_comes_fails_its_stage_and_everything_is_deleted(world: World, stuck: str, stage: str) -> None:
    result = verify(world, installation := TrialInstallation(stuck=stuck), "--timeout", "2m", "-o", "json")
    assert result.exit_code == 1
    ended = endings(result)
    assert ended[stage] == "failed"
    assert (ended["deletion"], ended["nothing left"]) == ("passed", "passed")
    later = list(VerifyStage)[list(VerifyStage).index(VerifyStage(stage)) + 1 : -2]
    assert {ended[str(one)] for one in later} <= {"not reached"}
    assert f"hetzner did not pass: {stage}" in result.stderr
    assert "not within 2 min" in result.stderr
    assert installation.left == []


def test_what_cannot_come_is_not_waited_for(world: World) -> None:
    installation = TrialInstallation(stuck="launched", blocked=f"the quota is reached. {NEXT}ask for more")
    result = verify(world, installation, "-o", "json")
    assert endings(result)["agents"] == "failed"
    assert "the quota is reached" in result.stderr
    assert world.time.elapsed_s < 60
    assert installation.left == []


def test_a_cloud_that_is_not_ready_is_told_before_anything_is_made(world: World) -> None:
    wrong = FindingOut(what="hetzner/production: images", well=False, told="there is none", what_next="make one")
    result = verify(world, installation := TrialInstallation(findings=[wrong]), "-o", "json")
    assert result.exit_code == 1
    assert "there is none" in result.stderr
    assert "make one" in result.stderr
    assert not any(path == "/apply" for _, path in installation.requests)


def test_a_walk_that_is_killed_at_any_request_leaves_what_the_next_one_deletes(world: World) -> None:
    """Before the request arrives and after it did: the answer is lost, and with it what the process knew."""
    whole = TrialInstallation()
    verify(world, whole)
    for number in range(1, len(whole.requests) + 1):
        for before in (True, False):
            installation = TrialInstallation(killed_at=number, killed_before=before)
            with pytest.raises(Killed):
                raise verify(world, installation).exception or AssertionError("it was not killed")
            installation.killed_at = 0
            again = verify(world, installation)
            assert again.exit_code == 0, f"request {number}, before it: {before}: {again.output}"
            assert installation.left == [], f"request {number}, before it: {before}"


def test_ctrl_c_has_the_server_delete_what_was_made(world: World) -> None:
    installation = TrialInstallation(stuck="launched")
    world.time.interrupt_after = 5
    result = verify(world, installation)
    assert result.exit_code == 130
    assert installation.deleting
    assert "kedge wait verify-hetzner --for=deleted" in result.stderr


def test_another_cluster_of_that_name_is_not_touched(world: World) -> None:
    installation = TrialInstallation(document={"metadata": {"name": NAME}}, vms={"brokers-a-0": 1})
    result = verify(world, installation)
    assert result.exit_code == 1
    assert "not made by `kedge cloud verify`" in result.stderr
    assert {method for method, _ in installation.requests} == {"GET"}
    assert installation.left == ["cluster"]


@pytest.mark.parametrize(
    ("ceiling", "unknown", "told"),
    [("0.01", [], "it may cost more than 0.01"), ("5", ["a disk of 20 GiB"], "nobody has a price for a disk")],
)
def test_what_may_cost_more_than_one_is_ready_to_pay_is_not_made(
    world: World, ceiling: str, unknown: list[str], told: str
) -> None:
    result = verify(world, installation := TrialInstallation(unknown=unknown), "--max-cost", ceiling)
    assert result.exit_code == 1
    assert told in " ".join(result.stderr.split())
    assert not any(path == "/apply" for _, path in installation.requests)


@pytest.mark.parametrize("amount", ["dear", "NaN", "-1", "Infinity"])
def test_an_amount_that_is_none_is_refused(world: World, amount: str) -> None:
    result = verify(world, TrialInstallation(), f"--max-cost={amount}")
    assert result.exit_code == 64
    assert "is no amount" in result.stderr


def test_a_no_changes_nothing(world: World) -> None:
    installation = TrialInstallation()
    result = world.run("cloud", "verify", *PLACE, transport=httpx.MockTransport(installation))
    assert result.exit_code == 1
    assert "add -y" in result.stderr
    assert not any(path == "/apply" for _, path in installation.requests)


def test_the_report_for_others_has_no_address_and_no_account(world: World, tmp_path: Path) -> None:
    file = tmp_path / "report.md"
    result = verify(world, TrialInstallation(stuck="launched"), "--timeout", "1m", "--report", str(file))
    assert result.exit_code == 1
    text = file.read_text()
    assert "| agents | failed |" in text
    assert "ADDRESS in account ACCOUNT" in text
    assert "10.0.0.7" not in text
    assert "production" not in text


@pytest.mark.parametrize(
    ("cloud", "region", "zone"),
    [("local", "local-1", "a"), ("aws", "eu-west-1", "eu-west-1a"), ("hetzner", "eu-central", "fsn1")],
)
def test_its_spec_is_valid_and_only_its_disks_grow(cloud: str, region: str, zone: str) -> None:
    account = "" if cloud == "local" else "production"
    trial = TrialCluster(f"verify-{cloud}", cloud, account, region, zone, "small", "4.2.0")
    for size in (trial.disk_gib, trial.grown_gib):
        loaded = load_documents(trial.text(size).encode(), file="verify.yaml")
        assert loaded.ok, loaded.problems
    first, grown = (next(iter(yaml.safe_load_all(trial.text(s)))) for s in (trial.disk_gib, trial.grown_gib))
    for one in (first, grown):
        for pool in one["spec"]["pools"]:
            pool["disk"].pop("sizeGib")
    assert first == grown


def test_the_bound_counts_two_vms_of_each_node_for_whole_hours_of_the_walk_and_its_deletion() -> None:
    def bound(limit_s: float, *amounts: str, unknown: tuple[str, ...] = ()) -> Any:
        named = zip(amounts, ("EUR", "USD"), strict=False)
        totals = [MoneyOut(amount=Decimal(amount), currency=currency) for amount, currency in named]
        after = BillOut(totals=totals, unknown=list(unknown), parts=[])
        cost = PlanCostOut(before=None, after=after, difference=None, surge=None, crossing=None, old=[])
        return cost_bound(cost, limit_s=limit_s)

    assert str(bound(1200, "730")) == "at most 2.00 EUR in 1 h"
    assert str(bound(1801, "730", "365")) == "at most 4.00 EUR + 2.00 USD in 2 h"
    assert str(bound(1200, unknown=("a VM",))) == "nobody knows what it costs"
    assert str(bound(60, "7.30", unknown=("a VM",))) == "at most 0.02 EUR in 1 h; without a price: a VM"
    assert cost_bound(None, limit_s=60) is None


def test_a_server_that_is_started_anew_on_the_way_is_waited_for(world: World) -> None:
    whole = TrialInstallation()
    verify(world, whole)
    declared = whole.requests.index(("POST", "/apply")) + 1
    for number in range(declared, len(whole.requests) + 1):
        installation = TrialInstallation(away_at=(number, number + 1))
        result = verify(world, installation)
        assert result.exit_code == 0, f"request {number}: {result.output}"
        assert installation.left == []


def test_a_fault_of_the_walk_itself_leaves_nothing(world: World) -> None:
    """Healing replaces the broker just then: there are two VMs of it."""
    installation = TrialInstallation()
    result = verify(world, installation)
    replaced = installation.requests.index(("POST", f"/clusters/{NAME}/replace"))
    installation = TrialInstallation(doubled_at=replaced - 1)
    result = verify(world, installation)
    assert result.exit_code == 1
    assert "2 VMs of its broker" in result.stderr
    assert installation.left == []


def test_what_a_second_person_must_approve_is_not_proposed(world: World) -> None:
    installation = TrialInstallation(reserved=["clusters of production"])
    result = verify(world, installation)
    assert result.exit_code == 1
    assert "clusters of production" in result.stderr
    assert not any(path == "/apply" for _, path in installation.requests)


def test_a_deletion_that_waits_for_a_second_person_is_told_at_once(world: World) -> None:
    result = verify(world, TrialInstallation(reserved_deletion="17"), "-o", "json")
    assert endings(result)["deletion"] == "failed"
    assert "kedge proposal approve 17" in result.stderr


def test_ctrl_c_before_the_deletion_was_asked_for_asks_for_it(world: World) -> None:
    for sleeps in range(60):
        world.time.sleeps.clear()
        world.time.interrupt_after = sleeps
        installation = TrialInstallation()
        result = verify(world, installation)
        if result.exit_code == 0:
            break
        assert result.exit_code == 130
        declared = ("POST", "/apply") in installation.requests
        assert not declared or not installation.document or installation.deleting
    else:
        raise AssertionError("no walk came to its end")


def test_a_cluster_that_somebody_else_made_meanwhile_is_not_touched(world: World) -> None:
    verify(world, whole := TrialInstallation())
    asked = [number for number, request in enumerate(whole.requests, 1) if request == ("POST", "/plan")]
    installation = TrialInstallation(foreign_after=asked[1])  # between the question and the answer
    result = verify(world, installation)
    assert result.exit_code == 1
    assert {path for method, path in installation.requests if method == "POST"} <= {"/plan"}
    assert installation.left == ["cluster"]


def test_a_trial_is_known_by_what_a_server_makes_of_its_spec() -> None:
    """A server fills in what a spec leaves out: the account of a cloud that has none is `default`."""
    trial = TrialCluster("verify-local", "local", "", "local-1", "a", "small", "4.2.0")
    (loaded,) = load_documents(trial.text(trial.disk_gib).encode(), file="verify.yaml").documents
    filled = loaded.model_dump(mode="json", by_alias=True)
    assert {pool["place"]["account"] for pool in filled["spec"]["pools"]} == {"default"}
    assert trial.is_not(detail("verify-local", document=filled)) == ""
    assert "another place" in replace(trial, region="local-2").is_not(detail("verify-local", document=filled))


def test_a_trial_of_another_place_is_left_to_its_own_walk(world: World) -> None:
    there = yaml.safe_load_all(
        TrialCluster(NAME, "aws", "production", "eu-west-1", "eu-west-1a", "small", "4.2.0").text(20)
    )
    installation = TrialInstallation(document=next(iter(there)), vms={"brokers-a-0": 1})
    result = verify(world, installation)
    assert result.exit_code == 1
    assert "another place" in result.stderr
    assert {method for method, _ in installation.requests} == {"GET"}


def test_what_an_earlier_run_left_is_deleted_with_a_yes_alone(world: World) -> None:
    verify(world, whole := TrialInstallation())
    installation = TrialInstallation(killed_at=whole.requests.index(("POST", "/apply")) + 4)
    with pytest.raises(Killed):
        raise verify(world, installation).exception or AssertionError("it was not killed")
    installation.killed_at = 0
    assert installation.left
    result = world.run("cloud", "verify", *PLACE, transport=httpx.MockTransport(installation))
    assert result.exit_code == 1
    assert "add -y" in result.stderr
    assert installation.left


def test_a_network_that_others_came_to_use_stays(world: World) -> None:
    installation = TrialInstallation(others=["orders"])
    result = verify(world, installation, "-o", "json")
    assert result.exit_code == 0
    assert installation.left == ["made"]
    assert "stays: it is of orders" in result.stdout


def test_a_controller_at_another_address_was_not_handed_over(world: World) -> None:
    result = verify(world, TrialInstallation(moved=True), "-o", "json")
    assert endings(result)["handover"] == "failed"
    assert "its successor has 10.0.0.2" in result.stderr


@pytest.mark.parametrize(
    ("told", "masked"),
    [
        ("10.0.0.7:9092 and 10.0.0.0/24", "ADDRESS:9092 and ADDRESS"),
        ("fe80::1%eth0, 2a01:4f8::5/64", "ADDRESS, ADDRESS"),
        ("2001:db8:1:2:3:4:5:6", "ADDRESS"),
        ("ip-10-0-1-5.internal", "ip-ADDRESS.internal"),
        ("server 4711123, i-0ab12cd34ef567890", "server ID, ID"),
        ("VM 1B4E28BA-2FA1-11D2-883F-0016D3CCA427", "VM ID"),
        ("after 12:30:45, 4.2.0, 20 GiB", "after 12:30:45, 4.2.0, 20 GiB"),
        ("in account production", "in account ACCOUNT"),
    ],
)
def test_what_is_ones_own_is_cut_out_of_the_report(told: str, masked: str) -> None:
    trial = TrialCluster(NAME, "hetzner", "production", "eu-central", "fsn1", "small", "4.2.0")
    result = StageResult(VerifyStage.VMS, Ending.FAILED, 3.0, told)
    lines = list(VerifyReport("1.0", trial, START, None, [result]).lines())
    assert lines[-1] == f"| VMs | failed | 3 s | {masked} |"
