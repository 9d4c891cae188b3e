"""The dry run before a surge asks for what the module asks for: one that asked for less would be refused where the VM
itself would not be, by a policy of an organisation that wants tokens, encrypted disks or no public address."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from providers.aws.lookahead import look_ahead
from providers.aws.settings import AwsRegion
from providers.base import Place
from tests.fakes.resources import instance, resources

REGION = AwsRegion(subnets={"eu-west-1a": "subnet-0000000a"}, security_groups=("sg-00000001",))
MACHINE = {"image": "ami-00000001", "shape": "m7g.large", "zone": "eu-west-1a", "tags": {"kedge-node": "b-0"}}


class Ec2:
    """Says that the VM could be made, and remembers what was asked for."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def describe_subnets(self, **_: Any) -> dict[str, Any]:
        return {"Subnets": [{"SubnetId": "subnet-0000000a", "AvailableIpAddressCount": 9}]}

    def describe_images(self, **_: Any) -> dict[str, Any]:
        return {"Images": [{"RootDeviceName": "/dev/xvda"}]}

    def run_instances(self, **wanted: Any) -> None:
        self.asked.append(wanted)
        raise ClientError({"Error": {"Code": "DryRunOperation", "Message": "it would"}}, "RunInstances")


@pytest.mark.parametrize(("more", "market"), [({}, None), ({"spot": True}, {"MarketType": "spot"})])
def test_the_dry_run_asks_for_what_the_module_asks_for(more: dict[str, Any], market: dict[str, str] | None) -> None:
    ec2 = Ec2()
    wanted = resources(instance("b-0", zone="eu-west-1a"), place=Place("aws", "eu-west-1", "production"))
    assert list(look_ahead(ec2, wanted, {"instance/b-0.g1"}, REGION, MACHINE | more)) == []
    (asked,) = ec2.asked
    assert asked["DryRun"] is True
    assert asked["MetadataOptions"]["HttpTokens"] == "required"
    assert asked["BlockDeviceMappings"] == [
        {"DeviceName": "/dev/xvda", "Ebs": {"Encrypted": True, "VolumeType": "gp3"}}
    ]
    (interface,) = asked["NetworkInterfaces"]
    assert (interface["SubnetId"], interface["AssociatePublicIpAddress"]) == ("subnet-0000000a", False)
    assert asked.get("InstanceMarketOptions") == market
    assert "Placement" not in asked


def test_a_vm_for_a_partition_is_asked_for_in_it() -> None:
    ec2 = Ec2()
    zone = "eu-west-1a-p2"
    region = AwsRegion(
        subnets={zone: "subnet-0000000a"}, security_groups=("sg-00000001",), placement_group="kedge-orders"
    )
    wanted = resources(instance("b-0", zone=zone), place=Place("aws", "eu-west-1", "production"))
    assert list(look_ahead(ec2, wanted, {"instance/b-0.g1"}, region, MACHINE | {"zone": zone})) == []
    assert ec2.asked[0]["Placement"] == {"GroupName": "kedge-orders", "PartitionNumber": 2}
