"""What is AWS's own: pages, throttles, answers of the wrong account, ids that are not found yet, tags of others."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from providers import tags
from providers.aws.cloud import SETTLES_S, AwsCloud
from providers.base import InstanceResource, InstanceState
from providers.catalog_file import sold_by
from providers.errors import AuthFailed, CloudUnavailable, QuotaExceeded, RateLimited
from providers.mounted import holds_mounted
from providers.quota import check_room
from tests.fakes.clock import Clock
from tests.fakes.clouds.aws import OTHER_ACCOUNT, MotoCloud, moto_cloud
from tests.fakes.clouds.aws_hands import PLACE, REGION, AwsHarness, write_settings
from tests.fakes.clouds.faults import Fault
from tests.fakes.clouds.hurry import at_once
from tests.fakes.resources import attachment, instance, resources, volume

NEVER_THERE = "i-0123456789abcdef0"


@dataclass
class Bench(AwsHarness):
    """The harness of the suite, a clock, and clouds like its own."""

    file: Path = Path()
    clock: Clock = None  # type: ignore[assignment]

    def another(self, *, installation_id: str = "test", attempts: int = 1, page: int = 1000) -> AwsCloud:
        cloud = AwsCloud(installation_id, self.file, attempts=attempts, page=page, clock=self.clock)
        return at_once(cloud, PLACE)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary-secret")
    with moto_cloud() as aws:
        file, clock = write_settings(tmp_path / "aws.yaml", aws), Clock()
        yield Bench(AwsCloud("test", file, attempts=1, clock=clock), aws, file=file, clock=clock)


def nodes(count: int) -> tuple[InstanceResource, ...]:
    return tuple(instance(f"n-{i}") for i in range(count))


def test_a_listing_asks_by_pages_and_not_by_machines(bench: Bench) -> None:
    bench.create(resources(*nodes(12)))
    bench.aws.calls.clear()
    listing = bench.another(page=5).list_place(PLACE)
    assert sorted(i.node for i in listing.instances) == sorted(f"n-{i}" for i in range(12))
    assert bench.aws.calls == {
        "GetCallerIdentity": 1,
        "DescribeInstances": 3,
        "DescribeVolumes": 1,
        "DescribeNetworkInterfaces": 1,
    }


def test_a_page_that_fails_fails_the_listing(bench: Bench) -> None:
    bench.create(resources(*nodes(12)))
    bench.aws.faults.append(Fault("DescribeInstances", "InternalError", 500, skip=2))
    with pytest.raises(CloudUnavailable, match="InternalError"):
        bench.another(page=5).list_place(PLACE)


def test_a_throttled_page_is_asked_for_again(bench: Bench) -> None:
    bench.create(resources(*nodes(7)))
    bench.aws.faults.append(Fault("DescribeInstances", "RequestLimitExceeded", 503, skip=1))
    assert len(bench.another(page=5, attempts=2).list_place(PLACE).instances) == 7


def test_a_throttle_that_lasts_is_told(bench: Bench) -> None:
    bench.aws.faults.append(Fault("DescribeInstances", "RequestLimitExceeded", 503, times=2))
    with pytest.raises(RateLimited, match=r"aws/production/eu-west-1: listing"):
        bench.another(attempts=2).list_place(PLACE)


def test_an_id_not_found_is_unknown_until_the_cloud_had_time_to_settle(bench: Bench) -> None:
    assert bench.cloud.describe(PLACE, [NEVER_THERE]) == {}
    bench.clock.now += SETTLES_S - 1
    assert bench.cloud.describe(PLACE, [NEVER_THERE]) == {}
    bench.clock.now += 1
    assert bench.cloud.describe(PLACE, [NEVER_THERE]) == {NEVER_THERE: InstanceState.GONE}


def test_a_terminated_vm_is_gone_at_once(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    vm = bench.id_of("n-0.g1")
    bench.power_cut(vm)
    assert bench.another().describe(PLACE, [vm]) == {vm: InstanceState.GONE}


def test_a_vm_that_was_terminated_is_asked_for_once_and_others_beside_it_each_time(bench: Bench) -> None:
    bench.create(resources(*nodes(2)))
    dead, stopped = bench.id_of("n-0.g1"), bench.id_of("n-1.g1")
    bench.power_cut(dead)
    bench.aws.client(REGION).stop_instances(InstanceIds=[stopped])
    told = {dead: InstanceState.GONE, stopped: InstanceState.STOPPING}
    assert [bench.cloud.describe(PLACE, [dead, stopped]) for _ in range(2)] == [told, told]
    before = bench.aws.calls["DescribeInstances"]
    assert bench.cloud.describe(PLACE, [dead]) == {dead: InstanceState.GONE}
    assert bench.aws.calls["DescribeInstances"] == before
    bench.power_cut(stopped)
    assert bench.cloud.describe(PLACE, [dead, stopped]) == {dead: InstanceState.GONE, stopped: InstanceState.GONE}


def test_a_stopped_vm_is_not_gone(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    vm = bench.id_of("n-0.g1")
    bench.aws.client(REGION).stop_instances(InstanceIds=[vm])
    assert [i.state for i in bench.cloud.list_place(PLACE).instances] == [InstanceState.STOPPING]
    assert bench.cloud.describe(PLACE, [vm]) == {vm: InstanceState.STOPPING}


def test_a_mounted_volume_stays_busy_until_it_is_unmounted_or_its_vm_is_terminated(bench: Bench) -> None:
    """Of the patch of moto: by it the lives prove that nothing detaches a disk that somebody has mounted."""
    of_two = [(instance(n), volume(n), attachment(f"{n}.g1", f"{n}.data.v1")) for n in ("b-0", "b-1")]
    wanted = resources(*of_two[0], *of_two[1])
    bench.create(wanted)
    for n in ("b-0", "b-1"):
        bench.mount(f"{n}.data.v1")
        bench.delete(wanted, f"attachment/{n}.g1.data")

    def holders() -> dict[str, str | None]:
        return {v.key: v.attached_to for v in bench.cloud.list_place(PLACE).volumes}

    ec2 = bench.aws.client(REGION)
    assert {a["State"] for v in ec2.describe_volumes()["Volumes"] for a in v["Attachments"]} == {"attached", "busy"}
    assert holders() == {"b-0.data.v1": "b-0.g1", "b-1.data.v1": "b-1.g1"}
    bench.unmount("b-0.data.v1")
    assert holders() == {"b-0.data.v1": None, "b-1.data.v1": "b-1.g1"}
    bench.cloud.terminate(PLACE, bench.id_of("b-1.g1"))
    assert holders() == {"b-0.data.v1": None, "b-1.data.v1": None}
    assert holds_mounted(bench.cloud)


def test_vcpus_that_run_count_against_their_limit_whoever_made_them(bench: Bench) -> None:
    bench.create(resources(*nodes(2)))
    ec2 = bench.aws.client(REGION)
    image = ec2.describe_images(Owners=["self"])["Images"][0]["ImageId"]
    for kind in ("m7g.xlarge", "g4dn.xlarge"):
        ec2.run_instances(ImageId=image, InstanceType=kind, MinCount=1, MaxCount=1)
    bench.aws.vcpu_limits["L-1216C47A"] = 9.0
    on_demand, spot = bench.cloud.quotas(PLACE)
    assert (on_demand.used, on_demand.limit, on_demand.spot) == (2 * 2 + 4, 9.0, False), "g4dn has a limit of its own"
    assert (spot.used, spot.spot) == (0.0, True)

    one_more = bench.here(resources(instance("n-9")))
    with pytest.raises(
        QuotaExceeded, match=r"nothing was made\. Running On-Demand Standard .*: 2 vCPUs more are needed, 1 "
    ):
        check_room(bench.cloud, one_more, {"instance/n-9.g1"}, sold_by("aws"))
    bench.aws.faults.append(Fault("GetServiceQuota", "AccessDeniedException", 403))
    check_room(bench.cloud, one_more, {"instance/n-9.g1"}, sold_by("aws"))


def test_credentials_of_another_account_are_refused_before_anything_is_believed(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    bench.aws.account = OTHER_ACCOUNT
    with pytest.raises(AuthFailed, match=f"of account {OTHER_ACCOUNT}, the place is account"):
        bench.another().list_place(PLACE)
    assert bench.aws.calls["DescribeInstances"] == 0


def test_an_account_that_changes_under_us_proves_nobody_gone(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    vm = bench.cloud.list_place(PLACE).instances[0].id
    bench.clock.now += SETTLES_S - 1
    bench.cloud.list_place(PLACE)
    bench.clock.now += 1
    bench.aws.account = OTHER_ACCOUNT
    with pytest.raises(AuthFailed, match=OTHER_ACCOUNT):
        bench.cloud.describe(PLACE, [vm])
    with pytest.raises(AuthFailed):
        bench.cloud.terminate(PLACE, vm)


def test_expired_credentials_say_so(bench: Bench) -> None:
    bench.aws.faults.append(Fault("*", "ExpiredToken", 403))
    with pytest.raises(AuthFailed, match="ExpiredToken"):
        bench.cloud.list_place(PLACE)


def test_a_vm_with_our_tag_and_none_of_the_others_is_nobodys(bench: Bench) -> None:
    tagged = [{"ResourceType": "instance", "Tags": [{"Key": tags.INSTALLATION, "Value": "test"}]}]
    bench.aws.client(REGION).run_instances(
        ImageId="ami-0123456789abcdef0", MinCount=1, MaxCount=1, TagSpecifications=tagged
    )
    bench.create(resources(*nodes(1)))
    assert [i.key for i in bench.cloud.list_place(PLACE).instances] == ["n-0.g1"]


def test_a_twin_is_listed_beside_the_first(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    bench.create(resources(*nodes(1)))
    first, second = bench.cloud.list_place(PLACE).instances
    assert first.key == second.key
    assert first.id != second.id


def test_a_volume_on_a_foreign_vm_is_attached_all_the_same(bench: Bench) -> None:
    bench.create(resources(volume("n-0")))
    ec2 = bench.aws.client(REGION)
    made = ec2.run_instances(ImageId="ami-0123456789abcdef0", MinCount=1, MaxCount=1)["Instances"][0]["InstanceId"]
    (disk,) = (v for v in ec2.describe_volumes()["Volumes"] if v.get("Tags"))
    ec2.attach_volume(VolumeId=disk["VolumeId"], InstanceId=made, Device="/dev/sdf")
    assert [v.attached_to for v in bench.cloud.list_place(PLACE).volumes] == [made]


def test_a_machine_tells_its_size_and_version_by_our_names(bench: Bench) -> None:
    bench.create(resources(*nodes(1)))
    (seen,) = bench.cloud.list_place(PLACE).instances
    assert (seen.shape, seen.image, seen.cluster_name) == ("small", "4.1.1", "orders")


def test_credentials_go_into_terraforms_environment_and_nowhere_else(bench: Bench) -> None:
    environment = bench.cloud.terraform_environment(PLACE)
    assert environment["AWS_SECRET_ACCESS_KEY"] == "canary-secret"
    wanted = bench.here(resources(*nodes(1)))
    told = f"{bench.cloud} {bench.cloud.variables(wanted)} {bench.cloud.list_place(PLACE)} {bench.file.read_text()}"
    assert "canary-secret" not in told


def test_an_account_without_credentials_is_refused_in_words(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(AuthFailed, match="redentials"):
        bench.another().list_place(PLACE)


def test_a_server_that_is_away_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    with moto_cloud() as aws:
        file = write_settings(tmp_path / "aws.yaml", aws)
    assert isinstance(aws, MotoCloud)
    with pytest.raises(CloudUnavailable, match="who am I"):
        AwsCloud("test", file, attempts=1).list_place(PLACE)
