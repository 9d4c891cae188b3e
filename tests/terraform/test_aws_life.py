"""A cluster's whole life on AWS: the real Terraform, the vendor's provider 5.100.0, and moto on a loopback port.

Each run goes through the guard as in production. What moto does otherwise than AWS is named in
tests/fakes/clouds/moto_patches.py. The provider itself waits ten seconds and more for each kind of thing it makes or
deletes, which nothing can shorten: that, not work, is what this test takes its time for.
"""

import base64
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from providers.aws.permissions import CHANGES, MAKES, QUOTAS, READS
from providers.base import InstanceState, Resources, RunKind
from providers.cloud_init import BOOT_FILE
from providers.errors import AuthFailed, NoCapacity, NotYetGone, RunInterrupted
from tests.borndata import files_of
from tests.fakes.clouds.aws import ACCOUNT, DRY, OTHER_ACCOUNT
from tests.fakes.clouds.aws_hands import REGION, AwsHarness
from tests.fakes.clouds.faults import Fault
from tests.fakes.resources import (
    UID,
    address,
    attachment,
    binding,
    instance,
    resources,
    run,
    surge,
    targets,
    volume,
)
from tests.terraform.awslife import AwsBench, aws_bench
from tests.terraform.spent import CONTROLLER, GONE, NOTHING, VM, Spent

pytestmark = [pytest.mark.soak, pytest.mark.terraform, pytest.mark.timeout(900)]

WRITES = (
    "RunInstances",
    "TerminateInstances",
    "CreateVolume",
    "DeleteVolume",
    "AttachVolume",
    "DetachVolume",
    "CreateNetworkInterface",
    "DeleteNetworkInterface",
    "AttachNetworkInterface",
    "DetachNetworkInterface",
    "CreateTags",
    "ModifyInstanceAttribute",
)

BROKER = (instance("b-0"), volume("b-0"), attachment("b-0.g1", "b-0.data.v1"))
OWN_DISK = (
    instance("b-1", zone="b"),
    volume("b-1", zone="b", kind="ephemeral"),
    attachment("b-1.g1", "b-1.data.v1"),
)
KEPT = (volume("c-0", "meta", zone="c"), address("c-0", zone="c"))
OLD = instance("c-0", zone="c")
NEW = instance("c-0", 2, zone="c")
ON_OLD = (attachment("c-0.g1", "c-0.meta.v1"), binding("c-0", "c-0.g1"))
ON_NEW = (attachment("c-0.g2", "c-0.meta.v1"), binding("c-0", "c-0.g2"))


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AwsBench]:
    with aws_bench(tmp_path, monkeypatch) as bench:
        yield bench


def test_a_cluster_lives_and_leaves_nothing_on_aws(bench: AwsBench, tmp_path: Path) -> None:
    hands = AwsHarness(bench.cloud, bench.aws)
    bench.aws.calls.clear()  # what its settings were made with

    def set_of(*parts: object) -> Resources:
        return hands.here(resources(*parts))  # type: ignore[arg-type]

    first = set_of(*BROKER, *OWN_DISK, OLD, *KEPT, *ON_OLD)
    made = bench.execute(surge(first))
    assert set(made.changed) == targets(first)
    owned = bench.listing().node_addresses[UID, "c-0"]
    assert {i.key: (i.state, i.volumes, i.addresses, i.zone) for i in bench.listing().instances} == {
        "b-0.g1": (InstanceState.RUNNING, ("b-0.data.v1",), (), f"{REGION}a"),
        "b-1.g1": (InstanceState.RUNNING, ("b-1.data.v1",), (), f"{REGION}b"),
        "c-0.g1": (InstanceState.RUNNING, ("c-0.meta.v1",), (owned,), f"{REGION}c"),
    }
    is_as_the_module_promises(bench)

    writes = {name: bench.aws.calls[name] for name in WRITES}
    spent = Spent(bench.aws.calls, is_a_write)
    with spent.on(NOTHING):
        again = bench.execute(surge(first))
    assert (again.changed, frozenset(again.done_before)) == ((), targets(first))
    assert {name: bench.aws.calls[name] for name in WRITES} == writes

    both = set_of(*BROKER, *OWN_DISK, OLD, NEW, *KEPT, *ON_OLD)
    spent.on_asking_ahead(bench.cloud, both, "instance/c-0.g2")
    with spent.on(VM, CONTROLLER):
        grown = bench.execute(surge(both, only=frozenset({"instance/c-0.g2"}), intent="run-2"))
    assert grown.changed == ("instance/c-0.g2",)

    with spent.on(CONTROLLER):
        bench.execute(run(RunKind.RELEASE, both, deletes={"attachment/c-0.g1.meta", "binding/c-0.g1"}, intent="run-3"))
    assert {(i.key, i.volumes, i.addresses) for i in bench.listing().instances if i.node == "c-0"} == {
        ("c-0.g1", (), ()),
        ("c-0.g2", (), ()),
    }
    after = set_of(*BROKER, *OWN_DISK, OLD, NEW, *KEPT, *ON_NEW)
    with spent.on(CONTROLLER):
        bench.execute(run(RunKind.BIND, after, creates={"attachment/c-0.g2.meta", "binding/c-0.g2"}, intent="run-4"))
    assert (bench.vm("c-0.g2").volumes, bench.vm("c-0.g2").addresses) == (("c-0.meta.v1",), (owned,))

    old = bench.vm("c-0.g1").id
    with spent.on(VM, CONTROLLER):
        retired = bench.execute(run(RunKind.RETIRE, after, deletes={"instance/c-0.g1"}, intent="run-5"))
    assert retired.changed == ("instance/c-0.g1",)
    with spent.on(GONE):
        assert bench.cloud.describe(after.place, [old]) == {old: InstanceState.GONE}
    assert {i.key for i in bench.listing().instances} == {"b-0.g1", "b-1.g1", "c-0.g2"}

    last = set_of(*BROKER, *OWN_DISK, NEW, *KEPT, *ON_NEW)
    bench.execute(run(RunKind.DESTROY, last, deletes=targets(last), intent="run-6"))
    ended = bench.execute(run(RunKind.DESTROY, last, deletes=targets(last), intent="run-6"))
    assert (ended.changed, frozenset(ended.done_before)) == ((), targets(last))
    listing = bench.listing()
    assert (listing.instances, listing.volumes, dict(listing.node_addresses)) == ((), (), {})
    holds_no_secret(tmp_path / "states")
    unmetered = {"GetCallerIdentity", f"RunInstances{DRY}"}  # questions about the caller itself
    quotas = (action.partition(":")[2] for action in QUOTAS)
    assert set(+bench.aws.calls) - unmetered <= {*READS, *MAKES, *CHANGES, *quotas}, "docs/clouds/policies/aws.json"
    spent.is_told_in_the_docs("aws")


def is_a_write(call: str) -> bool:
    return not call.startswith(("Describe", "Get")) and not call.endswith(DRY)


def test_a_broker_leaves_once_nobody_has_its_disk_mounted(bench: AwsBench) -> None:
    """A retire that detached a mounted disk ended in an error nobody knew, and left VM and disk behind for ever."""
    hands = AwsHarness(bench.cloud, bench.aws)
    other = (instance("b-1", zone="b"), volume("b-1", zone="b"), attachment("b-1.g1", "b-1.data.v1"))
    both, one = (hands.here(resources(*parts)) for parts in ((*BROKER, *other), other))
    bench.execute(surge(both))
    hands.mount("b-0.data.v1")
    hands.mount("b-1.data.v1")
    disk = next(v.id for v in bench.listing().volumes if v.key == "b-0.data.v1")

    retire = run(RunKind.RETIRE, one, deletes=targets(both) - targets(one), intent="run-2")
    with pytest.raises(NotYetGone, match=f"{disk} does not leave i-.*still mounted in the VM.*'busy'"):
        bench.execute(retire)
    assert {i.key for i in bench.listing().instances} == {"b-0.g1", "b-1.g1"}
    assert (bench.aws.calls["TerminateInstances"], bench.aws.calls["DeleteVolume"]) == (0, 0)
    hands.unmount("b-0.data.v1")  # what the converger waits for before it starts the run
    bench.execute(retire)
    assert ({i.key for i in bench.listing().instances}, {v.key for v in bench.listing().volumes}) == (
        {"b-1.g1"},
        {"b-1.data.v1"},
    )

    bench.cloud.terminate(one.place, bench.vm("b-1.g1").id)  # what it does where no agent answers
    nothing = hands.here(resources())
    bench.execute(run(RunKind.RETIRE, nothing, deletes=targets(one), intent="run-3"))
    assert (bench.listing().instances, bench.listing().volumes) == ((), ())


def test_awss_own_words_arrive_typed(bench: AwsBench) -> None:
    wanted = AwsHarness(bench.cloud, bench.aws).here(resources(instance("b-0")))
    fault = Fault("RunInstances", "InsufficientInstanceCapacity", 400, times=99)
    bench.aws.faults.append(fault)
    with pytest.raises(NoCapacity, match="InsufficientInstanceCapacity"):
        bench.execute(surge(wanted))
    assert bench.listing().instances == ()
    fault.times = 0
    bench.aws.account = OTHER_ACCOUNT
    with pytest.raises(AuthFailed, match=OTHER_ACCOUNT):
        bench.execute(surge(wanted))
    bench.aws.account = ACCOUNT
    assert bench.execute(surge(wanted)).changed == ("instance/b-0.g1",)


def test_an_interrupted_surge_is_taken_up_again_without_a_twin(bench: AwsBench) -> None:
    wanted = AwsHarness(bench.cloud, bench.aws).here(resources(instance("b-0"), volume("b-0")))
    stop, answer = threading.Event(), bench.aws.answer

    def stop_once_it_is_known(method: str, path: str, headers: dict[str, str], body: bytes) -> Any:
        # The provider asks for the VM by the id it was told: from here on it is in what Terraform saves.
        if b"Action=DescribeInstances" in body and bench.aws.calls["RunInstances"]:
            stop.set()
        return answer(method, path, headers, body)

    bench.aws.answering = stop_once_it_is_known
    with pytest.raises(RunInterrupted, match="its state is saved"):
        bench.execute(surge(wanted), stop=stop)
    bench.aws.answering = None
    (made,) = bench.listing().instances
    again = bench.execute(surge(wanted))
    assert "instance/b-0.g1" in again.done_before
    assert [i.id for i in bench.listing().instances] == [made.id]
    assert (bench.aws.calls["RunInstances"], bench.aws.calls["TerminateInstances"]) == (1, 0)


def is_as_the_module_promises(bench: AwsBench) -> None:
    """Tokens only, disks encrypted, boot data as it was."""
    ec2 = bench.aws.client(REGION)
    machines = [m for r in ec2.describe_instances()["Reservations"] for m in r["Instances"]]
    asked = {(m["MetadataOptions"]["HttpTokens"], m["MetadataOptions"]["HttpPutResponseHopLimit"]) for m in machines}
    assert asked == {("required", 1)}
    disks = ec2.describe_volumes()["Volumes"]
    assert len(disks) == len(machines) + 2
    assert {d["Encrypted"] for d in disks} == {True}
    told = ec2.describe_instance_attribute(InstanceId=bench.vm("b-0.g1").id, Attribute="userData")["UserData"]["Value"]
    assert files_of(base64.b64decode(told).decode())[BOOT_FILE] == BROKER[0].boot_data


def holds_no_secret(folder: Path) -> None:
    """No file a run leaves has the credentials; nor has the state the boot data, which holds a token."""
    left = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    assert any(path.name == "terraform.tfstate" for path in left)
    for path in left:
        body = path.read_bytes()
        assert b"canary-secret" not in body, path
        assert b"$(id)" not in body, path
