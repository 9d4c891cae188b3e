"""What was changed by hand of a network Kedge made is found by an audit, and an untouched one has no drift: the real
Terraform, the vendor's provider for Hetzner on our fake and for AWS on moto (soak), stand-ins for the four others (one
in `make test`).
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from providers.audits import AuditFound
from providers.networks import NetworkRunKind
from providers.tf.network_run import network_state_key
from providers.tf.state_file import LocalStates
from tests.terraform.audits import looked_at
from tests.terraform.networklife import NetworkBench, network_bench
from tests.terraform.standins import provider_of

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(400)]

OFFICE, ANYWHERE = "192.168.8.0/24", "0.0.0.0/0"


@pytest.fixture
def bench(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[NetworkBench]:
    with network_bench(str(request.param), tmp_path, monkeypatch) as opened:
        yield opened


def change_on_hetzner(bench: NetworkBench) -> Callable[[], object]:
    """The whole world is let in by the firewall, which is gone when what comes back is called."""
    firewalls: dict[int, Any] = cast(Any, bench.of).hetzner.project.kinds["firewalls"]
    (firewall,) = firewalls.values()
    (rule,) = (r for r in firewall["rules"] if r["source_ips"] == [OFFICE])
    rule["source_ips"] = [OFFICE, ANYWHERE]
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


def change_on_google(bench: NetworkBench) -> Callable[[], object]:
    """The same of the rule for clients."""
    world = cast(Any, bench.of).google.world
    (path,) = (path for path, thing in world.things.items() if thing.get("sourceRanges") == [OFFICE])
    world.things[path] = {**world.things[path], "sourceRanges": [OFFICE, ANYWHERE]}
    return lambda: world.things.pop(path)


def change_on_azure(bench: NetworkBench) -> Callable[[], object]:
    """The same."""
    things = cast(Any, bench.of).azure.things.by_id
    (rule,) = (one for one, thing in things.items() if one.endswith("/securityrules/clients-of-kafka"))
    told = things[rule]["properties"]
    things[rule] = {**things[rule], "properties": {**told, "sourceAddressPrefixes": [OFFICE, ANYWHERE]}}
    return lambda: things.pop(rule)


def change_on_digitalocean(bench: NetworkBench) -> Callable[[], object]:
    """The same; the whole firewall goes."""
    firewalls = cast(Any, bench.of).fake.firewalls
    (firewall,) = firewalls.values()
    (rule,) = (r for r in firewall["inbound_rules"] if r["sources"].get("addresses") == [OFFICE])
    rule["sources"] = {"addresses": [OFFICE, ANYWHERE]}
    return firewalls.clear  # type: ignore[no-any-return]


def change_on_upcloud(bench: NetworkBench) -> Callable[[], object]:
    """A label more on the network, and its router is gone when what comes back is called."""
    things = cast(Any, bench.of).upcloud.things
    network = next(n for n in things.networks.values() if n.get("labels"))
    network["labels"] = [*network["labels"], {"key": "team", "value": "payments"}]
    return things.routers.clear  # type: ignore[no-any-return]


TEAM = '"payments"'
CHANGES = {
    "hetzner": (change_on_hetzner, "rule", ANYWHERE, "hcloud_firewall"),
    "aws": (change_on_aws, "tags.team", TEAM, "aws_vpc_security_group_ingress_rule"),
    "google": (change_on_google, "source_ranges", ANYWHERE, "google_compute_firewall"),
    "azure": (change_on_azure, "source_address_prefixes", ANYWHERE, "azurerm_network_security_rule"),
    "digitalocean": (change_on_digitalocean, "inbound_rule", ANYWHERE, "digitalocean_firewall"),
    "upcloud": (change_on_upcloud, "labels.team", TEAM, "upcloud_router"),
}
"""What is done by hand, the attribute it is found in, what is said of it, and of what type the thing is that goes."""


@pytest.mark.parametrize(
    "bench",
    [
        "hetzner",
        provider_of("google"),
        *(provider_of(c, marks=pytest.mark.soak) for c in ("aws", "azure", "digitalocean", "upcloud")),
    ],
    indirect=True,
)
def test_what_was_changed_of_a_network_by_hand_is_named_and_what_is_gone_too(bench: NetworkBench) -> None:
    change, attribute, now, gone = CHANGES[bench.place.cloud]
    clients = {} if bench.place.cloud == "upcloud" else {"clients": (OFFICE,)}
    bench.run(NetworkRunKind.MAKE, intent="make", **clients)
    state = LocalStates(bench.of.state_root).of(network_state_key(bench.wanted(NetworkRunKind.MAKE, intent="x")))
    before = state.read()
    clean = looked_at(bench, **clients)
    assert (clean.drifts, clean.resources >= 3) == ((), True)

    delete = change(bench)
    (drift,) = looked_at(bench, **clients).drifts
    assert drift.attribute.startswith(attribute)
    assert now in drift.found
    assert now not in drift.recorded
    delete()
    assert gone in "".join(d.address for d in looked_at(bench, **clients).drifts if d.is_gone)
    assert state.read() == before, "the state stays as it is"
    assert not list(state.folder.directory.glob("audit*")), "no copy of a state is left"


@pytest.mark.parametrize("bench", ["hetzner"], indirect=True)
def test_a_network_that_was_never_made_has_nothing_to_look_at(bench: NetworkBench) -> None:
    assert looked_at(bench) == AuditFound((), 0)
