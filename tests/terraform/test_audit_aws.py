"""What was changed by hand on AWS is found by an audit: the real Terraform, the vendor's provider, moto."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.clouds.aws_hands import AwsHarness
from tests.fakes.resources import address, attachment, binding, instance, resources, surge, volume
from tests.terraform.audits import audited
from tests.terraform.awslife import AwsBench, aws_bench

pytestmark = [pytest.mark.soak, pytest.mark.terraform, pytest.mark.timeout(400)]

PARTS = (
    instance("b-0"),
    volume("b-0"),
    attachment("b-0.g1", "b-0.data.v1"),
    instance("c-0", zone="c"),
    volume("c-0", "meta", zone="c"),
    attachment("c-0.g1", "c-0.meta.v1"),
    address("c-0", zone="c"),
    binding("c-0", "c-0.g1"),
)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AwsBench]:
    with aws_bench(tmp_path, monkeypatch) as bench:
        yield bench


def test_a_tag_and_a_security_group_changed_by_hand_on_aws_are_named(bench: AwsBench) -> None:
    there = AwsHarness(bench.cloud, bench.aws).here(resources(*PARTS))
    bench.execute(surge(there))
    clean = audited(bench, there)
    assert clean.drifts == ()
    assert clean.resources >= len(PARTS)

    ec2, vm = bench.aws.client(bench.place.region), bench.vm("b-0.g1")
    ec2.create_tags(Resources=[vm.id], Tags=[{"Key": "team", "Value": "payments"}])
    network = ec2.describe_instances(InstanceIds=[vm.id])["Reservations"][0]["Instances"][0]["VpcId"]
    group = ec2.create_security_group(GroupName="by-hand", Description="open", VpcId=network)["GroupId"]
    ec2.modify_instance_attribute(InstanceId=vm.id, Groups=[group])
    found = {(d.target, d.attribute, d.found) for d in audited(bench, there).drifts}
    assert ("instance/b-0.g1", "tags.team", '"payments"') in found
    assert any(group in now for _, attribute, now in found if "security_group" in attribute), found
    assert {target for target, _, _ in found} == {"instance/b-0.g1"}
