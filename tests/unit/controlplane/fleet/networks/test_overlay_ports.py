"""Tunnels of an overlay: a network's firewall takes them before the first VM that needs it, and as long as it does."""

from dataclasses import replace

from controlplane.cluster.lifecycle import Phase
from controlplane.cluster.places import declared_places
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import PublicView
from controlplane.fleet.networks.overlay_ports import overlay_ports
from events.spec.network import NetworkSpec, OverlaySpec
from providers.networks import NO_OVERLAY, OverlayPorts
from tests.builders import a_document, a_view, an_instance
from tests.sim.networkworld import NetworkWorld

PRIVATE, PUBLIC = (51820, 51822), (51821, 51823)


def a_world(**told: object) -> NetworkWorld:
    world = NetworkWorld()
    world.declare("orders", **told)  # type: ignore[arg-type]
    world.settle()
    return world


def its_overlay(world: NetworkWorld) -> OverlayPorts:
    (network,) = world.view.existing()
    return network.access.overlay


def test_a_network_without_an_overlay_takes_no_tunnels() -> None:
    assert its_overlay(a_world(public=True)) == NO_OVERLAY


def test_a_network_is_made_with_the_ports_of_tunnels_between_its_members() -> None:
    assert its_overlay(a_world(overlay=51820)) == OverlayPorts(PRIVATE)


def test_anybody_may_call_where_vms_have_public_addresses() -> None:
    assert its_overlay(a_world(overlay=51820, public=True)) == OverlayPorts(PRIVATE, PUBLIC)


def test_a_cluster_waits_until_the_firewall_takes_its_tunnels_and_they_go_with_it() -> None:
    world = a_world()
    world.declare("audit", overlay=51820, public=True)
    (planned,) = (one for one in world.reconciler.planned(world.clusters["audit"]) if "tunnels" in one)
    assert planned == "network default in aws/main/r1 lets in tunnels at UDP ports 51820, 51821, 51822, 51823 first"
    (told,) = world.waits("audit")
    assert "does not let in tunnels at UDP ports 51820, 51821, 51822, 51823 yet" in told
    assert world.waits("orders") == (), "who has no overlay waits for nothing"
    world.settle()
    assert world.waits("audit") == ()
    assert its_overlay(world) == OverlayPorts(PRIVATE, PUBLIC)
    world.delete("audit")
    world.settle()
    assert its_overlay(world) == NO_OVERLAY


def test_two_clusters_of_a_network_have_the_ports_of_both() -> None:
    world = a_world(overlay=51820)
    world.declare("audit", overlay=51830, public=True)
    world.settle()
    assert its_overlay(world) == OverlayPorts((51820, 51822, 51830, 51832), (51831, 51833))


def with_overlay(view: ClusterView) -> ClusterView:
    document = view.document or a_document()
    network = NetworkSpec(overlay=OverlaySpec(type="wireguard"))
    spec = document.spec.model_copy(update={"network": network})
    return replace(view, document=document.model_copy(update={"spec": spec}))


def test_a_vm_that_has_one_still_is_called_until_it_is_retired() -> None:
    """Its pool does not ask any more: it goes last."""
    place = declared_places(a_view())[0]
    old = replace(an_instance("brokers-a-0"), place=place, public=PublicView(asked=True))
    assert overlay_ports(with_overlay(a_view(old)), place) == OverlayPorts(PRIVATE, PUBLIC)
    assert overlay_ports(with_overlay(a_view(replace(old, phase=Phase.RETIRED))), place) == OverlayPorts(PRIVATE)


def test_ports_that_are_open_to_anybody_are_members_as_well() -> None:
    closed, opened = OverlayPorts((51820,)), OverlayPorts((), (51820,))
    assert closed.without(opened) == ()
    assert opened.without(closed) == (51820,), "members alone are fewer"
    assert closed.joined(opened) == opened
