"""What a surge would stumble over on AWS, by two calls that make nothing."""

from collections.abc import Iterator, Set
from typing import Any

from botocore.exceptions import ClientError

from providers.aws.errors import code_of, is_throttle, translated
from providers.aws.settings import AwsRegion
from providers.base import Resources
from providers.doctor import Finding
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
    subnet = region.subnets[str(machine["zone"])]
    yield from _may_run(ec2, wanted, subnet, list(region.security_groups), machine)


def _may_run(ec2: Any, wanted: Resources, subnet: str, groups: list[str], machine: dict[str, Any]) -> Iterator[Finding]:
    tags = [{"Key": key, "Value": value} for key, value in sorted(machine["tags"].items())]
    with translated(f"{wanted.place}: may a VM be made"):
        try:
            ec2.run_instances(
                DryRun=True,
                MinCount=1,
                MaxCount=1,
                ImageId=machine["image"],
                InstanceType=machine["shape"],
                SubnetId=subnet,
                SecurityGroupIds=groups,
                TagSpecifications=[{"ResourceType": "instance", "Tags": tags}],
            )
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
