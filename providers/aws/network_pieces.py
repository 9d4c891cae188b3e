"""What of a network exists in EC2, by its tags: what an interrupted run made and nobody knows is imported, not twinned.

All of it is tagged in the call that makes it, but for the rules of the security group: those are found in their group.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from providers.aws.errors import translated
from providers.aws.partitions import availability_zone
from providers.aws.tags import tags_of
from providers.errors import ResourceConflict
from providers.networks import NetworkRun
from providers.tf.imports import in_module

_NAMED = {9092: "brokers", 9093: "controllers"}


def network_pieces(ec2: Any, run: NetworkRun) -> dict[str, str]:
    """Terraform's address -> id to import by. Raises `ResourceConflict` where there are two networks of that name."""
    marks = [
        {"Name": "tag:kedge-installation", "Values": [run.installation_id]},
        {"Name": "tag:kedge-network", "Values": [run.cloud_name]},
    ]
    with translated(f"{run.place}: looking for the network {run.cloud_name}"):
        networks = ec2.describe_vpcs(Filters=marks)["Vpcs"]
        if not networks:
            return {}
        if len(networks) > 1:
            ids = ", ".join(sorted(n["VpcId"] for n in networks))
            raise ResourceConflict(f"{run.place}: {ids} are all tagged as the network {run.cloud_name}; one may be")
        vpc = str(networks[0]["VpcId"])
        there = [*marks, {"Name": "vpc-id", "Values": [vpc]}]
        subnets = ec2.describe_subnets(Filters=there)["Subnets"]
        groups = ec2.describe_security_groups(Filters=there)["SecurityGroups"]
        named = [{"Name": "group-id", "Values": [g["GroupId"] for g in groups]}]
        rules = ec2.describe_security_group_rules(Filters=named)["SecurityGroupRules"] if groups else []
    found = {
        "module.kedge.aws_vpc.network": vpc,
        **{in_module("aws_subnet.zone", zone): subnet for zone, subnet in _of(subnets, run)},
        **dict(_rules(rules, run)),
    }
    if groups:
        found["module.kedge.aws_security_group.kafka"] = str(groups[0]["GroupId"])
    return found


def _of(subnets: Sequence[Mapping[str, Any]], run: NetworkRun) -> Iterator[tuple[str, str]]:
    """(zone, id) of those the run renders; any other was not made by this network. A name tells partitions."""
    for subnet in subnets:
        named = tags_of(subnet).get("Name", "").removeprefix(f"{run.cloud_name}-")
        where = str(subnet["AvailabilityZone"])
        zone = named if availability_zone(named) == where else where
        if zone in run.zones:
            yield zone, str(subnet["SubnetId"])


def _rules(rules: Sequence[Mapping[str, Any]], run: NetworkRun) -> Iterator[tuple[str, str]]:
    """Those the run renders; any other is of an earlier change, or of a person, and is not imported."""
    brokers, every = set(run.ports.brokers), {*run.ports.brokers, *run.ports.members}
    for rule in rules:
        found, where = str(rule["SecurityGroupRuleId"]), "module.kedge.aws_vpc_security_group_"
        port, cidr = rule.get("FromPort"), rule.get("CidrIpv4")
        if rule["IsEgress"]:
            if rule.get("Description"):
                yield f"{where}egress_rule.{'out' if cidr else 'out_ipv6[0]'}", found
        elif rule.get("IpProtocol") == "udp":
            if caller := _tunnelled(rule, run):
                yield in_module("aws_vpc_security_group_ingress_rule.overlay", f"{caller} {port}"), found
        elif rule.get("ReferencedGroupInfo"):
            if port in every:
                yield in_module("aws_vpc_security_group_ingress_rule.members", _NAMED.get(port, f"port {port}")), found
        elif port in brokers and cidr in run.clients_at(port):
            key = str(cidr) if port == 9092 else f"{cidr} {port}"
            yield in_module("aws_vpc_security_group_ingress_rule.clients", key), found
        elif cidr in run.servers and port in run.ports.of_server and rule.get("ToPort") == port:
            yield in_module("aws_vpc_security_group_ingress_rule.servers", f"{cidr} {port}"), found
        elif cidr in run.peers and port in every and rule.get("ToPort") == port:
            # Also one a person made before Kedge let peers in: EC2 refuses the same rule a second time.
            yield in_module("aws_vpc_security_group_ingress_rule.peers", f"{cidr} {port}"), found


def _tunnelled(rule: Mapping[str, Any], run: NetworkRun) -> str:
    """From whom a rule the run renders lets tunnels in; "" for any other."""
    port, by_group = rule.get("FromPort"), bool(rule.get("ReferencedGroupInfo"))
    caller = "members" if by_group else str(rule.get("CidrIpv4") or rule.get("CidrIpv6") or "")
    anybody = {"0.0.0.0/0", "::/0"} if port in run.overlay.anybody else set[str]()
    members = {"members", *run.peers} if port in run.overlay.members else set[str]()
    return caller if rule.get("ToPort") == port and caller in anybody | members else ""
