"""States of networks written by every released version of a module plan empty under today's: an upgrade of Kedge
changes no firewall and no subnet. Where a resource was renamed a `moved` block has to say so; else the guard refuses
every run.
"""

from pathlib import Path

import pytest

from providers.errors import UnsafeChange
from providers.networks import NetworkRunKind
from providers.tf.network_run import module_resources
from providers.tf.state_body import addresses_in
from tests.fakes.clouds.hetzner import TOKEN
from tests.standins.mirror import MODULES
from tests.terraform.audits import looked_at
from tests.terraform.goldennetworks import CLOUDS, FOLDER, TOLD, golden_files, golden_network, put, state_of
from tests.terraform.networklife import let_in
from tests.terraform.standins import provider_of

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(300)]

SLOW = {"aws": [pytest.mark.soak, pytest.mark.timeout(900)]}
FILES = [
    provider_of(cloud, golden, called=f"{cloud}-{golden.name.removesuffix('.tfstate.json')}", marks=SLOW.get(cloud, []))
    for cloud in CLOUDS
    for golden in golden_files(cloud)
]
MADE_FOR_OTHERS = {
    "aws": {
        "aws_vpc_security_group_egress_rule.out_ipv6",
        "aws_vpc_security_group_ingress_rule.servers",
        "aws_vpc_security_group_ingress_rule.overlay",
    },
    "azure": {
        "azurerm_orchestrated_virtual_machine_scale_set.domains",
        "azurerm_network_security_rule.servers",
        "azurerm_network_security_rule.listeners",
        "azurerm_network_security_rule.overlay",
    },
    "google": {
        "google_compute_firewall.servers",
        "google_compute_firewall.listeners",
        "google_compute_firewall.overlay",
    },
}
"""Of each module what this network has none of: IPv6, regions without zones, servers of Kedge that were told of,
listeners with clients of their own, an overlay."""


@pytest.mark.parametrize(("cloud", "golden"), FILES)
def test_a_network_of_an_earlier_release_plans_empty(cloud: str, golden: Path, tmp_path: Path) -> None:
    with golden_network(cloud, tmp_path) as bench:
        body = put(bench, golden)
        again = bench.run(NetworkRunKind.MAKE, intent="again", **TOLD)
        assert (again.changed, again.imported) == ((), ())
        assert state_of(bench).read() == body
        assert looked_at(bench, **TOLD).drifts == (), "the cloud holds what the state says"
        assert len(let_in(bench)) >= 2, "members, and who else the cloud's own firewall lets in"


def test_a_rule_the_state_lacks_is_seen_with_a_stand_in(tmp_path: Path) -> None:
    """So the test above can fail: with other members elsewhere the plan is not empty, and such a run is refused."""
    (golden,) = golden_files("digitalocean")
    with golden_network("digitalocean", tmp_path) as bench:
        put(bench, golden)
        with pytest.raises(UnsafeChange, match="changes nothing that is there"):
            bench.run(NetworkRunKind.MAKE, intent="again", **{**TOLD, "peers": ("10.66.0.0/20",)})


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_golden_network_has_one_of_each_and_nothing_of_the_machine_it_was_written_on(cloud: str) -> None:
    files = golden_files(cloud)
    assert files, f"there is no state of a network of {cloud}"
    for path in sorted((FOLDER / cloud).glob("*.json")):
        for foreign in ("/tmp/", "/home/", "/root/", f"{Path.cwd()}/", TOKEN):
            assert foreign not in path.read_text(), path
    newest = addresses_in(files[-1].read_bytes())
    held = {address.removeprefix("module.kedge.").partition("[")[0] for address in newest}
    assert held == module_resources(MODULES / f"{cloud}-network") - MADE_FOR_OTHERS.get(cloud, set())
