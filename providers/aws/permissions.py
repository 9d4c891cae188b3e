"""What the credentials of an account need: the actions of EC2 that Kedge or its module calls, each by its own name.

EC2's permissions are named after its calls ("Actions, resources, and condition keys for Amazon EC2"); the calls are
those that were recorded (tests/contract/test_cloud_policies.py). What changes a thing is given for things with Kedge's
tag only.
"""

from collections.abc import Mapping

READS = (
    "DescribeAddresses",
    "DescribeAvailabilityZones",
    "DescribeImages",
    "DescribeInstanceAttribute",
    "DescribeInstanceCreditSpecifications",
    "DescribeInstanceStatus",
    "DescribeInstanceTypes",
    "DescribeInstances",
    "DescribeNetworkInterfaces",
    "DescribeSecurityGroups",
    "DescribeSpotInstanceRequests",
    "DescribeSubnets",
    "DescribeTags",
    "DescribeVolumes",
    "DescribeVpcs",
    "GetConsoleOutput",
)
"""EC2 takes no resource for most of these: they are given for all. `DescribeSpotInstanceRequests` is what Terraform's
provider 5.100 asks of a pre-emptible VM; moto gives such a VM no request, so it was never recorded.
"""

MAKES = ("CreateNetworkInterface", "CreateTags", "CreateVolume", "RunInstances")

CHANGES = (
    "AttachNetworkInterface",
    "AttachVolume",
    "DeleteNetworkInterface",
    "DeleteTags",
    "DeleteVolume",
    "DetachNetworkInterface",
    "DetachVolume",
    "ModifyInstanceAttribute",
    "ModifyNetworkInterfaceAttribute",
    "ModifyVolume",
    "StopInstances",
    "TerminateInstances",
)
"""Of things that carry the installation's tag."""

NETWORK_READS = (
    "DescribeNetworkAcls",
    "DescribeNetworkInterfaces",
    "DescribeRouteTables",
    "DescribeSecurityGroupRules",
    "DescribeSecurityGroups",
    "DescribeSubnets",
    "DescribeTags",
    "DescribeVpcAttribute",
    "DescribeVpcs",
)

NETWORK_MAKES = (
    "AuthorizeSecurityGroupEgress",
    "AuthorizeSecurityGroupIngress",
    "CreateSecurityGroup",
    "CreateSubnet",
    "CreateTags",
    "CreateVpc",
)

NETWORK_CHANGES = (
    "DeleteSecurityGroup",
    "DeleteSubnet",
    "DeleteVpc",
    "RevokeSecurityGroupEgress",
    "RevokeSecurityGroupIngress",
)
"""For networks that Kedge makes, beside the others; these of things that carry the installation's tag."""

QUOTAS = ("servicequotas:GetServiceQuota",)
"""Without it a surge is not held against the account's limits, and nothing else is missing."""

OTHER_SERVICES = ("pricing:GetProducts",)
"""For `kedge machines refresh` alone."""


def policy(installation_tag: str) -> Mapping[str, object]:
    """An IAM policy document; the tag's value stays open, an installation fills in its own id."""
    return _document(
        _allowed("Read", _named(READS)),
        _allowed("Make", _named(MAKES)),
        _of_its_own(CHANGES, installation_tag),
        _allowed("Quotas", list(QUOTAS)),
        _allowed("Prices", list(OTHER_SERVICES)),
    )


def network_policy(installation_tag: str) -> Mapping[str, object]:
    """An IAM policy document to make, change and remove networks; for the tag see `policy`."""
    return _document(
        _allowed("ReadNetworks", _named(NETWORK_READS)),
        _allowed("MakeNetworks", _named(NETWORK_MAKES)),
        _of_its_own(NETWORK_CHANGES, installation_tag),
    )


def _document(*statements: Mapping[str, object]) -> Mapping[str, object]:
    return {"Version": "2012-10-17", "Statement": list(statements)}


def _allowed(sid: str, actions: list[str]) -> dict[str, object]:
    return {"Sid": sid, "Effect": "Allow", "Action": actions, "Resource": "*"}


def _of_its_own(changes: tuple[str, ...], tag: str) -> dict[str, object]:
    own = {"StringLike": {f"aws:ResourceTag/{tag}": "*"}}
    return {**_allowed("ChangeItsOwn", _named(changes)), "Condition": own}


def _named(actions: tuple[str, ...]) -> list[str]:
    return [f"ec2:{action}" for action in actions]
