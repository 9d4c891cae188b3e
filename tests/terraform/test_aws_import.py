"""What exists on AWS and is in no state is imported before anything is planned: no twin after a kill, no lost state.

The real Terraform with the vendor's provider 5.100.0 against moto, as in test_aws_life.py.
"""

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest

from providers import tags
from providers.aws.tags import tags_of
from providers.base import RunKind, TerraformRun
from providers.errors import ResourceConflict, TerraformFailed
from providers.tf.run_folder import processes_of
from providers.tf.state_file import state_file
from tests.fakes.clouds.aws import action_of
from tests.fakes.clouds.aws_hands import PLACE, AwsHarness
from tests.fakes.resources import UID, address, attachment, binding, instance, resources, run, surge, targets, volume
from tests.terraform.awslife import AwsBench, aws_bench

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(600)]

BROKER = (instance("b-0"), volume("b-0"), attachment("b-0.g1", "b-0.data.v1"))
OWN_DISK = (
    instance("b-1", zone="b"),
    volume("b-1", zone="b", kind="ephemeral"),
    attachment("b-1.g1", "b-1.data.v1"),
)
CONTROLLER = (
    instance("c-0", zone="c"),
    volume("c-0", "meta", zone="c"),
    address("c-0", zone="c"),
    attachment("c-0.g1", "c-0.meta.v1"),
    binding("c-0", "c-0.g1"),
)
HANDOVER = {"attachment/c-0.g1.meta", "binding/c-0.g1"}


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AwsBench]:
    with aws_bench(tmp_path, monkeypatch) as bench:
        yield bench


def test_a_vm_made_while_terraform_was_killed_is_imported_by_the_same_run(bench: AwsBench) -> None:
    wanted = AwsHarness(bench.cloud, bench.aws).here(resources(instance("b-0")))
    run_of_it = surge(wanted)
    killed_during(bench, run_of_it, "RunInstances")
    with pytest.raises(TerraformFailed, match="exit code"):
        bench.execute(run_of_it)
    (made,) = bench.listing().instances
    again = bench.execute(run_of_it)
    assert again.imported == ('module.kedge.aws_instance.instance["b-0.g1"]',)
    assert (again.changed, again.done_before) == ((), ("instance/b-0.g1",))
    assert again.instances == {"b-0.g1": made.id}
    assert [i.id for i in bench.listing().instances] == [made.id]
    assert (bench.aws.calls["RunInstances"], bench.aws.calls["TerminateInstances"]) == (1, 0)


@pytest.mark.soak
def test_a_lost_state_is_made_again_from_what_exists(bench: AwsBench) -> None:
    hands = AwsHarness(bench.cloud, bench.aws)
    stands = hands.here(resources(*BROKER, *OWN_DISK, *CONTROLLER))
    hands.create(resources(*BROKER, *OWN_DISK, *CONTROLLER))
    before = bench.listing()
    new = (instance("b-0", 2), replace(volume("b-0"), version=2), attachment("b-0.g2", "b-0.data.v2"))
    wanted = hands.here(resources(*BROKER, *OWN_DISK, *CONTROLLER, *new))
    named = targets(resources(*new))
    result = bench.execute(replace(surge(wanted, only=named, intent="run-2"), adopts=stands))
    assert set(result.changed) == named
    assert len(result.imported) == 9
    assert state_file(bench.state_root, UID, PLACE).targets() == targets(wanted)
    kept = {i.id for i in bench.listing().instances if i.key != "b-0.g2"}
    assert kept == {i.id for i in before.instances}
    assert bench.aws.calls["TerminateInstances"] == 0
    again = bench.execute(replace(surge(wanted, only=named, intent="run-2"), adopts=stands))
    assert (again.changed, again.imported) == ((), ())
    bench.execute(run(RunKind.DESTROY, wanted, deletes=targets(wanted), intent="run-3"))
    left = bench.listing()
    assert (left.instances, left.volumes, dict(left.node_addresses)) == ((), (), {})


@pytest.mark.soak
def test_volumes_addresses_and_ties_made_while_terraform_was_killed_are_imported(bench: AwsBench) -> None:
    wanted = AwsHarness(bench.cloud, bench.aws).here(resources(*CONTROLLER))
    made = ("RunInstances", "CreateVolume", "CreateNetworkInterface", "AttachVolume", "AttachNetworkInterface")
    kills = killed_until_done(bench, surge(wanted), *made)
    assert kills >= 2, "what hangs on a VM is made after it"
    assert {action: bench.aws.calls[action] for action in made} == dict.fromkeys(made, 1)
    assert state_file(bench.state_root, UID, PLACE).targets() == targets(wanted)

    # The same VM gives up what it holds and takes it again, each run killed once in between: never less than 5 kills.
    while kills < 5:
        released = run(RunKind.RELEASE, wanted, deletes=HANDOVER, intent="run-2")
        kills += killed_until_done(bench, released, "DetachVolume")
        assert {(i.volumes, i.addresses) for i in bench.listing().instances} == {((), ())}
        kills += killed_until_done(bench, run(RunKind.BIND, wanted, creates=HANDOVER, intent="run-3"), "AttachVolume")
        (vm,) = bench.listing().instances
        assert (vm.volumes, len(vm.addresses)) == (("c-0.meta.v1",), 1)
    assert [bench.aws.calls[action] for action in made[:3]] == [1, 1, 1]
    print(f"{kills} kills")


@pytest.mark.soak
def test_a_vm_of_another_intent_under_the_same_key_is_refused(bench: AwsBench) -> None:
    hands = AwsHarness(bench.cloud, bench.aws)
    hands.create(resources(instance("b-0", intent="of-old")))
    with pytest.raises(ResourceConflict, match=r"b-0\.g1.*was made for intent of-old"):
        bench.execute(surge(hands.here(resources(instance("b-0")))))
    (only,) = [m for r in bench.aws.client(PLACE.region).describe_instances()["Reservations"] for m in r["Instances"]]
    assert tags_of(only)[tags.INTENT] == "of-old"


def killed_until_done(bench: AwsBench, asked: TerraformRun, *actions: str) -> int:
    """Terraform is killed once in each of `actions`, and the run is made again until it ends well: how often it was."""
    killed_during(bench, asked, *actions)
    for kills in range(len(actions) + 1):
        try:
            bench.execute(asked)
        except TerraformFailed:
            continue
        return kills
    raise AssertionError(f"{asked.kind} did not end after {len(actions)} kills")


def killed_during(bench: AwsBench, run: TerraformRun, *actions: str) -> None:
    """Kills Terraform and its plugins once AWS has done one of `actions`, before anybody hears of it; once for each."""
    answer, left, run_id = bench.aws.answer, set(actions), bench.marked(run).intent_id

    def kill(method: str, path: str, headers: dict[str, str], body: bytes) -> Any:
        told = answer(method, path, headers, body)
        done = action_of(dict(parse_qsl(body.decode())))
        if done in left:
            left.discard(done)
            for pid in processes_of(run_id):
                os.kill(pid, signal.SIGKILL)
        return told

    bench.aws.answering = kill
