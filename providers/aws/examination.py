"""What `kedge doctor` asks AWS: whether what `aws.yaml` names in a region is there and fits. Nothing is changed."""

from collections.abc import Callable, Iterator
from typing import Any

from providers.aws.errors import translated
from providers.aws.partitions import availability_zone
from providers.aws.settings import AwsRegion
from providers.base import Place
from providers.catalog_file import sold_by
from providers.errors import ProviderError
from providers.finding import Finding, looked_at
from providers.quota import AccountQuota, findings

Machine = dict[str, Any]

_CORRECT = "Correct aws.yaml."
_QUOTA = "Give the credentials servicequotas:GetServiceQuota, or look at Service Quotas, Amazon EC2, yourself."


def examine_region(
    ec2: Any, place: Place, region: AwsRegion, quotas: Callable[[], tuple[AccountQuota, ...]]
) -> Iterator[Finding]:
    """A finding for the subnets, the security groups, each image, and each quota."""
    subnets, groups = sorted(set(region.subnets.values())), list(region.security_groups)
    yield _there(f"{place}: subnets", lambda: ec2.describe_subnets(SubnetIds=subnets)["Subnets"], _in_zones(region))
    yield _there(
        f"{place}: security groups",
        lambda: ec2.describe_security_groups(GroupIds=groups)["SecurityGroups"],
        lambda found: (len(found) == len(groups), f"{len(found)} of {len(groups)} are there"),
    )
    if not region.images:
        yield Finding(f"{place}: images", False, "aws.yaml names none", "Name one for each Kafka version in use.")
    for version, by in sorted(region.images.items()):
        for architecture, image in sorted(by.items()):
            yield _image(ec2, f"{place}: image of {version} for {architecture}", architecture, image)
    try:
        yield from findings(place, quotas(), sold_by("aws"))
    except ProviderError as error:
        yield Finding(f"{place}: quota", None, str(error), _QUOTA)


def _image(ec2: Any, what: str, architecture: str, image: str) -> Finding:
    def judged(found: list[Machine]) -> tuple[bool, str]:
        if not found:
            return False, f"there is no {image}"
        is_for, state = found[0].get("Architecture", "nobody knows what"), found[0]["State"]
        return is_for == architecture and state == "available", f"{image} is for {is_for} and {state}"

    return _there(what, lambda: ec2.describe_images(ImageIds=[image])["Images"], judged)


def _in_zones(region: AwsRegion) -> Callable[[list[Machine]], tuple[bool, str]]:
    def judged(found: list[Machine]) -> tuple[bool, str]:
        told = {s["SubnetId"]: s for s in found}
        for zone, subnet in sorted(region.subnets.items()):
            if subnet not in told:
                return False, f"there is no {subnet}"
            if told[subnet]["AvailabilityZone"] != availability_zone(zone):
                return False, f"{subnet} is in {told[subnet]['AvailabilityZone']}, not in {zone}"
        free = (f"{zone} {told[subnet]['AvailableIpAddressCount']}" for zone, subnet in sorted(region.subnets.items()))
        return True, f"free addresses: {', '.join(free)}"

    return judged


def _there(what: str, ask: Callable[[], list[Machine]], judge: Callable[[list[Machine]], tuple[bool, str]]) -> Finding:
    def look() -> tuple[bool, str]:
        with translated(what):
            found = ask()
        return judge(found)

    return looked_at(what, look, _CORRECT)
