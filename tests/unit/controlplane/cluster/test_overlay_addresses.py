"""Public addresses of VMs in an overlay: recorded as clouds tell them, and not forgotten when nobody knows."""

from dataclasses import replace

import pytest

from controlplane.cluster.overlay_addresses import seen_addresses
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import PublicView
from events import facts
from providers.base import Place
from providers.state import InstanceState
from tests.builders import a_cloud_instance, a_view, an_instance
from tests.unit.controlplane.cluster.test_overlay_keys import after

A = an_instance("brokers-a-0", cloud_id="vm-brokers-a-0.g1")


def seen(view: ClusterView, **told: object) -> tuple[facts.PublicAddressesSeen, ...]:
    return seen_addresses(view, {A.key: a_cloud_instance(view.instances[A.key], **told)})


def known(*addresses: str, cloud: str = "aws") -> ClusterView:
    place = Place(cloud, "eu-west-1")
    return a_view(replace(A, place=place, public=PublicView(addresses=addresses)))


def test_what_a_cloud_tells_is_recorded_once_and_folded() -> None:
    (event,) = seen(known(), public_address="203.0.113.7", ipv6="2001:db8::7")
    assert event == facts.PublicAddressesSeen(A.key, ("203.0.113.7", "2001:db8::7"))
    view = after(known(), event)
    assert view.instances[A.key].public == PublicView(addresses=("203.0.113.7", "2001:db8::7"))
    assert seen(view, public_address="203.0.113.7", ipv6="2001:db8::7") == ()


def test_another_address_takes_the_place_of_the_one_before() -> None:
    (event,) = seen(known("203.0.113.7"), public_address="203.0.113.8")
    assert event.addresses == ("203.0.113.8",)
    (event,) = seen(known("203.0.113.7"))
    assert event.addresses == (), "it runs, and has none any more"


@pytest.mark.parametrize("state", [s for s in InstanceState if s is not InstanceState.RUNNING])
def test_of_a_vm_that_does_not_run_nothing_is_known(state: InstanceState) -> None:
    assert seen(known("203.0.113.7"), state=state) == ()
    assert seen_addresses(known("203.0.113.7"), {}) == (), "nor of one that no listing has"


def test_a_twin_of_its_key_is_another_vm() -> None:
    assert seen(known("203.0.113.7"), id="vm-other", public_address="203.0.113.9") == ()


def test_of_a_network_of_version_6_the_first_address_is_the_vms_and_azures_is_private() -> None:
    (event,) = seen(known(cloud="hetzner"), ipv6="2001:db8:1::/64")
    assert event.addresses == ("2001:db8:1::1",)
    assert seen(known(cloud="azure"), ipv6="fd00::4") == ()
