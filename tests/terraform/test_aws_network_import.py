"""A network whose state was lost is made again from what AWS has of it: rules for members in another place too, which
stand beside those for clients and for members and are none of theirs. Vendor's provider 5.100.0, against moto.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from providers.networks import FirewallPorts, NetworkRunKind
from providers.tf.network_run import network_state_key
from providers.tf.state_body import addresses_in
from providers.tf.state_file import LocalStates, StatePaths
from tests.terraform.networklife import NetworkBench, let_in, network_bench

pytestmark = [pytest.mark.terraform, pytest.mark.soak, pytest.mark.timeout(1200)]

OFFICE, ELSEWHERE = "192.168.8.0/24", "10.65.0.0/20"
PORTS = FirewallPorts((9092, 9192), (9093,))
TOLD: dict[str, Any] = {"clients": (OFFICE,), "ports": PORTS, "peers": (ELSEWHERE,)}
RULE = "module.kedge.aws_vpc_security_group_ingress_rule"
PEERS = {f'{RULE}.peers["{ELSEWHERE} {port}"]' for port in (9092, 9093, 9192)}


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[NetworkBench]:
    with network_bench("aws", tmp_path, monkeypatch) as opened:
        yield opened


def test_rules_for_members_in_another_place_are_imported_when_the_state_was_lost(bench: NetworkBench) -> None:
    bench.run(NetworkRunKind.MAKE, intent="make", **TOLD)
    state = _state(bench)
    known, rules = addresses_in(state.read()), _rules(bench)
    assert known >= PEERS
    state.path.unlink()

    again = bench.run(NetworkRunKind.MAKE, intent="again", **TOLD)
    assert (again.changed, frozenset(again.imported)) == ((), known)
    assert addresses_in(state.read()) == known
    assert _rules(bench) == rules, "none is there twice"
    every = {*PORTS.brokers, *PORTS.members}
    assert let_in(bench) == {"members": every, OFFICE: set(PORTS.brokers), ELSEWHERE: every}

    closed = bench.run(NetworkRunKind.ACCESS, intent="close", clients=(OFFICE,), ports=PORTS)
    assert frozenset(closed.changed) == PEERS
    assert ELSEWHERE not in let_in(bench)


def _state(bench: NetworkBench) -> StatePaths:
    key = network_state_key(bench.wanted(NetworkRunKind.MAKE, intent="look"))
    return LocalStates(bench.of.state_root).of(key)


def _rules(bench: NetworkBench) -> Counter[tuple[str, str, int]]:
    """What moto has, by id: source and port of each rule that lets in."""
    ec2 = cast(Any, bench.of).aws.client(bench.place.region)
    found = ec2.describe_security_group_rules()["SecurityGroupRules"]
    inward = [rule for rule in found if not rule["IsEgress"]]
    return Counter((r["SecurityGroupRuleId"], str(r.get("CidrIpv4", "members")), r.get("FromPort", -1)) for r in inward)
