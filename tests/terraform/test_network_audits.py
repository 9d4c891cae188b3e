"""What was changed by hand of a network Kedge made is found by an audit: the real Terraform, the vendor's provider for
Hetzner on our fake and for AWS on moto (soak); the others' stand-ins show that an untouched network has no drift.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from providers.audits import AuditFound
from providers.networks import NetworkRunKind
from providers.tf.networkrun import network_state_key
from providers.tf.statefile import LocalStates
from tests.terraform.audits import looked_at
from tests.terraform.networklife import NetworkBench, network_bench

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(400)]

OFFICE = "192.168.8.0/24"


@pytest.fixture
def bench(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[NetworkBench]:
    with network_bench(str(request.param), tmp_path, monkeypatch) as opened:
        yield opened


def change_on_hetzner(bench: NetworkBench) -> Callable[[], object]:
    """A label more on the network, and the firewall is gone when what comes back is called."""
    project = cast(Any, bench.of).hetzner.project
    network = project.networks[int(bench.made[bench.place]["network"])]
    network["labels"] = {**network["labels"], "team": "payments"}
    firewalls: dict[int, Any] = project.kinds["firewalls"]
    return firewalls.clear


def change_on_aws(bench: NetworkBench) -> Callable[[], object]:
    """A tag more on the VPC, and the rule for clients is gone when what comes back is called."""
    ec2 = cast(Any, bench.of).aws.client(bench.place.region)
    (vpc,) = ec2.describe_vpcs(Filters=[{"Name": "tag-key", "Values": ["kedge-network"]}])["Vpcs"]
    ec2.create_tags(Resources=[vpc["VpcId"]], Tags=[{"Key": "team", "Value": "payments"}])
    rules = ec2.describe_security_group_rules()["SecurityGroupRules"]
    (rule,) = [r for r in rules if r.get("CidrIpv4") == OFFICE]
    return lambda: ec2.revoke_security_group_ingress(
        GroupId=rule["GroupId"], SecurityGroupRuleIds=[rule["SecurityGroupRuleId"]]
    )


CHANGES = {
    "hetzner": (change_on_hetzner, "labels.team", "hcloud_firewall"),
    "aws": (change_on_aws, "tags.team", "aws_vpc_security_group_ingress_rule"),
}


@pytest.mark.parametrize("bench", ["hetzner", pytest.param("aws", marks=pytest.mark.soak)], indirect=True)
def test_what_was_changed_of_a_network_by_hand_is_named_and_what_is_gone_too(bench: NetworkBench) -> None:
    change, attribute, gone = CHANGES[bench.place.cloud]
    clients = {"clients": (OFFICE,)}
    bench.run(NetworkRunKind.MAKE, intent="make", **clients)
    state = LocalStates(bench.of.state_root).of(network_state_key(bench.wanted(NetworkRunKind.MAKE, intent="x")))
    before = state.read()
    clean = looked_at(bench, **clients)
    assert (clean.drifts, clean.resources > 3) == ((), True)

    delete = change(bench)
    (drift,) = [d for d in looked_at(bench, **clients).drifts if d.attribute == attribute]
    assert (drift.recorded, drift.found) == ("nothing", '"payments"')
    delete()
    assert gone in "".join(d.address for d in looked_at(bench, **clients).drifts if d.is_gone)
    assert state.read() == before, "the state stays as it is"
    assert not list(state.folder.directory.glob("audit*")), "no copy of a state is left"


@pytest.mark.soak
@pytest.mark.parametrize("bench", ["azure", "google", "digitalocean", "upcloud"], indirect=True)
def test_a_network_nobody_touched_has_no_drift_on_a_stand_in(bench: NetworkBench) -> None:
    bench.run(NetworkRunKind.MAKE, intent="make")
    found = looked_at(bench)
    assert (found.drifts, found.resources > 0) == ((), True)


@pytest.mark.parametrize("bench", ["hetzner"], indirect=True)
def test_a_network_that_was_never_made_has_nothing_to_look_at(bench: NetworkBench) -> None:
    assert looked_at(bench) == AuditFound((), 0)
