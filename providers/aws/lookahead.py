"""What a surge would stumble over on AWS, by three calls that make nothing."""

from collections.abc import Iterator, Set
from typing import Any

from botocore.exceptions import ClientError

from providers.aws.errors import code_of, is_throttle, translated
from providers.aws.partitions import partition_of
from providers.aws.settings import AwsRegion
from providers.base import Resources
from providers.finding import Finding
from providers.preflight import PERMISSIONS, addresses_needed, of_addresses

_MAY, _MAY_NOT = "DryRunOperation", "UnauthorizedOperation"
"""RunInstances with `DryRun`: "If you have the required permissions, the error response is DryRunOperation. Otherwise,
it is UnauthorizedOperation" (EC2 API Reference)."""


def look_ahead(
    ec2: Any, wanted: Resources, new: Set[str], region: AwsRegion, machine: dict[str, Any]
) -> Iterator[Finding]:
    """Free addresses of each subnet, and whether the first new VM may be made: `machine` is its variables."""
    needed = addresses_needed(wanted, new)
    subnets = {zone: region.subnets[zone] for zone in needed if zone in region.subnets}
    with translated(f"{wanted.place}: subnets"):
        found = ec2.describe_subnets(SubnetIds=sorted(set(subnets.values())))["Subnets"]
    left = {s["SubnetId"]: int(s["AvailableIpAddressCount"]) for s in found}
    yield from of_addresses({z: (s, left[s]) for z, s in subnets.items() if s in left}, needed)
    yield from _may_run(ec2, wanted, region, machine)


def _may_run(ec2: Any, wanted: Resources, region: AwsRegion, machine: dict[str, Any]) -> Iterator[Finding]:
    with translated(f"{wanted.place}: may a VM be made"):
        root = _root_device(ec2, str(machine["image"]))
        try:
            ec2.run_instances(DryRun=True, MinCount=1, MaxCount=1, **_asked_for(machine, region, root))
        except ClientError as error:
            if is_throttle(error.response):
                raise
            said = code_of(error)
            if said == _MAY_NOT:
                yield Finding(PERMISSIONS, False, "the credentials lack ec2:RunInstances, by a dry run")
            elif said != _MAY:
                yield Finding(PERMISSIONS, None, f"a dry run of ec2:RunInstances ended with {error}")
            return
    yield Finding(PERMISSIONS, None, "AWS took a dry run for nothing; what the credentials may do is unknown")


def _asked_for(machine: dict[str, Any], region: AwsRegion, root: str) -> dict[str, Any]:
    """As the module makes it: policies of an organisation refuse what has no encrypted disk, or takes no tokens."""
    tags = [{"Key": key, "Value": value} for key, value in sorted(machine["tags"].items())]
    spot = {"InstanceMarketOptions": {"MarketType": "spot"}} if machine.get("spot") else {}
    ipv6 = {"Ipv6AddressCount": 1} if machine.get("ipv6") else {}
    zone, groups = str(machine["zone"]), list(region.security_groups)
    interface = {
        "DeviceIndex": 0,
        "SubnetId": region.subnets[zone],
        "Groups": groups,
        "AssociatePublicIpAddress": False,
        **ipv6,
    }
    partition = partition_of(zone)
    placed = {"Placement": {"GroupName": region.placement_group, "PartitionNumber": partition}} if partition else {}
    disk = {"DeviceName": root, "Ebs": {"Encrypted": True, "VolumeType": "gp3"}}
    return {
        "ImageId": machine["image"],
        "InstanceType": machine["shape"],
        "NetworkInterfaces": [interface],
        "MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 1, "HttpEndpoint": "enabled"},
        "TagSpecifications": [{"ResourceType": "instance", "Tags": tags}],
        **({"BlockDeviceMappings": [disk]} if root else {}),
        **spot,
        **placed,
    }


def _root_device(ec2: Any, image: str) -> str:
    """ "" where the image is not there: the dry run says so in EC2's own words."""
    try:
        found = ec2.describe_images(ImageIds=[image])["Images"]
    except ClientError as error:
        if is_throttle(error.response):
            raise
        return ""
    return str(found[0].get("RootDeviceName", "")) if found else ""
