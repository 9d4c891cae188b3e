"""IPv6 that a network was made without.

A network made with IPv6 and the VMs in it are part of the life in test_networks_made.py. Hetzner and AWS (soak: it
waits long for each thing) with the vendors' providers, the others with stand-ins.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from providers.errors import PlaceUnknown
from providers.networks import NetworkRunKind
from tests.fakes.resources import surge
from tests.terraform.ipv6life import cluster_with_ipv6, say_ipv6
from tests.terraform.networklife import NetworkBench, network_bench
from tests.terraform.standins import provider_of

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(600)]

MAKE = NetworkRunKind.MAKE
CLOUDS = [
    pytest.param("hetzner", marks=pytest.mark.soak),  # where nothing of a network has to do with it
    provider_of("azure"),
    provider_of("digitalocean", marks=pytest.mark.soak),
    provider_of("google", marks=pytest.mark.soak),
    pytest.param("aws", marks=[pytest.mark.soak, pytest.mark.timeout(1800)]),
]


@pytest.fixture(params=CLOUDS)
def bench(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[NetworkBench]:
    with network_bench(request.param, tmp_path, monkeypatch) as opened:
        yield opened


def test_a_network_without_is_told_before_anything_is_made_and_never_changes(bench: NetworkBench) -> None:
    """A region that says `ipv6: true` later: what stands was made without, and every run on it stays possible.

    At Hetzner nothing of a network has to do with it.
    """
    assert "ipv6" not in bench.run(MAKE, intent="make").settings
    say_ipv6(bench)
    assert bench.run(MAKE, intent="make").changed == ()
    if bench.place.cloud == "hetzner":
        assert bench.of.execute(surge(cluster_with_ipv6(bench))).changed
        return
    with pytest.raises(PlaceUnknown, match=r"b-0\.g1 are to have IPv6, and the network default there has none"):
        bench.of.execute(surge(cluster_with_ipv6(bench)))
    assert bench.of.listing().instances == ()
