"""What of a network exists in EC2 is found under the addresses its module renders, ports and clients among them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from providers.aws.network_pieces import network_pieces
from providers.base import Place
from providers.networks import FirewallPorts, NetworkRun, NetworkRunKind
from tests.fakes.clouds.aws import MotoCloud, moto_cloud
from tests.fakes.clouds.aws_hands import REGION

RUN = NetworkRun(
    "n.0",
    NetworkRunKind.ACCESS,
    "network-1-default",
    Place("aws", REGION, "production"),
    "test",
    "10.64.0.0/20",
    clients=("10.8.0.0/16",),
    ports=FirewallPorts((9092, 9192), (2181, 9093)),
)
RULE = "module.kedge.aws_vpc_security_group_ingress_rule"


@pytest.fixture
def aws() -> Iterator[MotoCloud]:
    with moto_cloud() as cloud:
        yield cloud


def test_rules_are_found_by_port_and_client_and_those_the_run_does_not_render_are_left(aws: MotoCloud) -> None:
    ec2 = aws.client(REGION)
    _made(ec2, members=(9092, 9093, 2181, 22), clients={"10.8.0.0/16": (9092, 9192, 9093), "10.9.0.0/16": (9092,)})
    found = network_pieces(ec2, RUN)
    assert sorted(address for address in found if address.startswith(RULE)) == [
        f'{RULE}.clients["10.8.0.0/16 9192"]',
        f'{RULE}.clients["10.8.0.0/16"]',
        f'{RULE}.members["brokers"]',
        f'{RULE}.members["controllers"]',
        f'{RULE}.members["port 2181"]',
    ]
    usual = network_pieces(ec2, replace(RUN, ports=FirewallPorts(), clients=()))
    assert sorted(address for address in usual if address.startswith(RULE)) == [
        f'{RULE}.members["brokers"]',
        f'{RULE}.members["controllers"]',
    ]


def test_rules_of_members_in_another_place_are_found_at_all_their_ports(aws: MotoCloud) -> None:
    """Those of a place that is let in no more, and a rule of somebody's for a range of ports, are left."""
    ec2 = aws.client(REGION)
    _made(ec2, members=(), clients={"10.65.0.0/20": (9092, 9093, 2181, 22), "10.66.0.0/20": (9092,)})
    found = network_pieces(ec2, replace(RUN, clients=(), peers=("10.65.0.0/20",)))
    assert sorted(address for address in found if address.startswith(RULE)) == [
        f'{RULE}.peers["10.65.0.0/20 2181"]',
        f'{RULE}.peers["10.65.0.0/20 9092"]',
        f'{RULE}.peers["10.65.0.0/20 9093"]',
    ]


def test_rules_of_a_listener_with_its_own_clients_are_found_and_others_are_left(
    aws: MotoCloud,
) -> None:
    ec2 = aws.client(REGION)
    _made(ec2, members=(), clients={"10.8.0.0/16": (9092, 9192), "10.9.0.0/16": (9092, 9192)})
    found = network_pieces(ec2, replace(RUN, port_clients=((9192, ("10.9.0.0/16",)),)))
    assert sorted(address for address in found if address.startswith(RULE)) == [
        f'{RULE}.clients["10.8.0.0/16"]',
        f'{RULE}.clients["10.9.0.0/16 9192"]',
    ]


def test_rules_of_servers_are_found_at_the_ports_they_dial(aws: MotoCloud) -> None:
    """One that is a client as well has that rule at the brokers' ports, and is let in as a server at the others."""
    ec2 = aws.client(REGION)
    _made(ec2, members=(), clients={"10.0.0.5/32": (9092, 9093, 2181, 2888), "10.0.0.6/32": (9092,)})
    alone = network_pieces(ec2, replace(RUN, clients=(), servers=("10.0.0.5/32",)))
    assert sorted(address for address in alone if address.startswith(RULE)) == [
        f'{RULE}.servers["10.0.0.5/32 2181"]',
        f'{RULE}.servers["10.0.0.5/32 9092"]',
        f'{RULE}.servers["10.0.0.5/32 9093"]',
    ]
    both = network_pieces(ec2, replace(RUN, clients=("10.0.0.5/32",), servers=("10.0.0.5/32",)))
    assert sorted(address for address in both if address.startswith(RULE)) == [
        f'{RULE}.clients["10.0.0.5/32"]',
        f'{RULE}.servers["10.0.0.5/32 2181"]',
        f'{RULE}.servers["10.0.0.5/32 9093"]',
    ]


def _made(ec2: Any, *, members: tuple[int, ...], clients: dict[str, tuple[int, ...]]) -> None:
    """A network half made: what a run that was killed leaves, and rules of somebody else."""
    tags = [{"Key": "kedge-installation", "Value": "test"}, {"Key": "kedge-network", "Value": RUN.cloud_name}]
    network = ec2.create_vpc(CidrBlock=RUN.cidr, TagSpecifications=[{"ResourceType": "vpc", "Tags": tags}])
    group = ec2.create_security_group(
        GroupName="kafka",
        Description="Kafka",
        VpcId=network["Vpc"]["VpcId"],
        TagSpecifications=[{"ResourceType": "security-group", "Tags": tags}],
    )["GroupId"]
    from_members = [_rule(port, UserIdGroupPairs=[{"GroupId": group}]) for port in members]
    from_clients = [_rule(port, IpRanges=[{"CidrIp": cidr}]) for cidr, ports in clients.items() for port in ports]
    ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=[*from_members, *from_clients])


def _rule(port: int, **who: object) -> dict[str, object]:
    return {"IpProtocol": "tcp", "FromPort": port, "ToPort": port, **who}
