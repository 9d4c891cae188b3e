"""`disk.type`, `iops`, `throughputMibPerS` and `kmsKey`: which cloud takes which, and what another one comes to."""

import pytest

from events.instance_facts import PlannedDisk
from events.jvm import Jvm
from events.spec.digest import instance_digest, static_inputs
from events.spec.disk_options import OFFERED, option_problems
from events.spec.model import Disk, KafkaClusterDocument, PlaceSpec, Pool
from events.spec.positions import Positions
from events.spec.problems import Problem
from events.spec.rules import check_change
from planner.rollout.desired import desired_nodes, disk_options
from planner.rollout.diff import BornWith, Change, Incumbent, IncumbentDisks, node_changes
from tests.unit.events.spec_texts import document

AWS_KEY = "arn:aws:kms:eu-west-1:123456789012:key/11111111-2222-3333-4444-555555555555"


def a_pool(cloud: str, *, kind: str = "persistent", zones: tuple[str, ...] = ("a",), **told: object) -> Pool:
    disk = Disk.model_validate({"kind": kind, "sizeGib": 100, **told})
    place = PlaceSpec(cloud=cloud, region="r1", zones=zones)
    return Pool(name="brokers", services=("broker",), size=1, machine="small", disk=disk, place=place)


def with_disk(pool: str, **told: object) -> KafkaClusterDocument:
    """The usual document, but for the disks of one pool. Of what its cloud sells nobody is asked."""
    before = document()
    disk = before.spec.pool(pool).disk.model_copy(update=told)
    pools = tuple(p.model_copy(update={"disk": disk}) if p.name == pool else p for p in before.spec.pools)
    return before.model_copy(update={"spec": before.spec.model_copy(update={"pools": pools})})


def problems(cloud: str, **told: object) -> list[Problem]:
    pool = a_pool(cloud, **told)  # type: ignore[arg-type]  # by name
    return list(option_problems(pool, ("spec", "pools", 0), Positions()))


@pytest.mark.parametrize(
    ("cloud", "told"),
    [
        ("aws", {"iops": 6000, "throughputMibPerS": 500, "kmsKey": AWS_KEY}),
        ("aws", {"type": "io2", "iops": 50_000}),
        ("google", {"type": "hyperdisk-balanced", "iops": 6000, "throughputMibPerS": 500}),
        ("google", {"kmsKey": "projects/p/locations/l/keyRings/r/cryptoKeys/k"}),
        ("azure", {"type": "PremiumV2_LRS", "iops": 6000, "throughputMibPerS": 500}),
        ("upcloud", {"type": "standard"}),
        *((cloud, {}) for cloud in ("aws", "google", "azure", "upcloud", "digitalocean", "hetzner", "local")),
    ],
)
def test_what_a_cloud_sells_is_taken(cloud: str, told: dict[str, object]) -> None:
    assert problems(cloud, **told) == []


@pytest.mark.parametrize(
    ("cloud", "told", "said", "fix"),
    [
        (
            "hetzner",
            {"type": "fast"},
            "the volumes of hetzner are all of one kind",
            "Leave `type` away",
        ),
        ("digitalocean", {"iops": 1, "kmsKey": "k"}, "volumes of digitalocean are all of one", "`iops` and `kmsKey`"),
        ("local", {"throughputMibPerS": 9}, "the volumes of local are all of one kind", "Leave"),
        ("aws", {"type": "gp4"}, "type `gp4`, which aws is not known to sell", "Choose one of gp3, gp2, io1"),
        (
            "aws",
            {"type": "gp2", "iops": 6000},
            "type `gp2` take no such number on aws",
            "gp3 or io1 or io2",
        ),
        ("aws", {"type": "io2"}, "which aws makes with a number of `iops` only", "Write `iops`, 100 to 256000"),
        ("aws", {"iops": 100}, "`iops` is 100, and disks of type `gp3` have 3000 to 80000 on aws", "Correct"),
        ("aws", {"throughputMibPerS": 2000}, "have 125 to 1000 on aws", "Correct"),
        ("google", {"iops": 6000}, "disks of type `pd-balanced` take no such number on google", "hyperdisk-balanced"),
        ("azure", {"throughputMibPerS": 500}, "type `Premium_LRS` take no such number", "`type: PremiumV2_LRS`"),
        ("upcloud", {"iops": 9}, "type `maxiops` take no such number on upcloud", "Leave it away"),
        ("upcloud", {"kmsKey": "k"}, "upcloud encrypts volumes with keys of its own alone", "Leave it away"),
        ("aws", {"kmsKey": "alias/kafka"}, "is not a name of a key on aws", "arn:aws:kms:REGION"),
        ("azure", {"kmsKey": AWS_KEY}, "is not a name of a key on azure", "diskEncryptionSets/NAME"),
    ],
)
def test_what_it_does_not_sell_is_refused_with_its_name(
    cloud: str, told: dict[str, object], said: str, fix: str
) -> None:
    [problem] = problems(cloud, **told)
    assert problem.code == "KEDGE-SPEC-067"
    assert said in problem.message
    assert fix in problem.fix


def test_a_disk_of_the_machine_has_what_the_machine_has() -> None:
    [problem] = problems("aws", kind="ephemeral", iops=6000)
    assert "kind `ephemeral`, which come with their machine" in problem.message


def test_premium_ssd_v2_is_for_availability_zones() -> None:
    [problem] = problems("azure", zones=("westeurope-fd0",), type="PremiumV2_LRS")
    assert "in availability zones alone" in problem.message


@pytest.mark.parametrize("cloud", OFFERED)
def test_the_type_a_disk_has_unless_told_is_one_of_its_clouds(cloud: str) -> None:
    first, *_ = OFFERED[cloud]
    assert problems(cloud, type=first) == []


def test_a_spec_that_says_nothing_of_it_makes_the_same_vms_as_before() -> None:
    before = document()
    assert {key for key in static_inputs(before, "brokers") if ".disk." in key} == {
        "pool.disk.kind",
        "pool.disk.sizeGib",
    }
    assert disk_options(before.spec.pool("brokers").disk) is None


def test_another_figure_is_another_vm_of_brokers_with_a_new_disk() -> None:
    told = with_disk("brokers", type="gp3", iops=6000)
    assert instance_digest(told, "brokers") != instance_digest(document(), "brokers")
    assert instance_digest(told, "controllers") == instance_digest(document(), "controllers")
    want = next(n for n in desired_nodes(told) if n.service == "broker")
    have = Incumbent(
        want.node,
        1,
        want.rack,
        0,
        "broker",
        1000,
        "d",
        want.kafka_version,
        want.shape,
        False,
        born=BornWith({}, disk_gib=100, heap_mib=256),
        disks=IncumbentDisks(100, "persistent"),
        jvm=Jvm(256),
    )
    (change,) = node_changes([want], [have])
    assert change.change is Change.REPLACE
    assert change.reason == f"{want.node}: disk as the cloud has it -> gp3, 6000 IOPS"
    assert want.disks.options == PlannedDisk("gp3", 6000)


def test_who_votes_keeps_the_disk_it_has() -> None:
    told = with_disk("controllers", iops=6000)
    found = check_change(document(), told, data_bytes_per_pool=None)
    [problem] = [p for p in found if p.code == "KEDGE-SPEC-073"]
    assert "`iops` of the disks of pool `controllers` would change" in problem.message
    assert problem.fix == "Leave `iops` away again."
