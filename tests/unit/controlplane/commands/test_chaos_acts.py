"""What a recorded fault becomes in the hands of the cloud: whom a split names, and how much is lost."""

from dataclasses import dataclass, field, replace
from typing import Any, cast

import pytest

from controlplane.cluster.view import ChaosView
from controlplane.commands.chaos_injection import bring_about
from events.facts import ChaosManner
from providers.base import CloudProvider, Place
from providers.harm import CannotHarm, Harm, Manner, Way
from tests.builders import BEFORE, a_view

A, C = "brokers-a-0.g1", "brokers-c-0.g1"


@dataclass
class Hands:
    """A cloud that notes what it is to do."""

    done: list[tuple[str, Harm, float, Manner]] = field(default_factory=list)
    spares: str = ""
    """This one cannot be harmed."""

    def harm(self, place: Place, instance: str, harm: Harm, for_s: float, manner: Manner) -> None:
        if instance == self.spares:
            raise CannotHarm("no hands")
        self.done.append((instance, harm, for_s, manner))


def done(fault: str, *keys: str, spares: str = "", **manner: Any) -> list[tuple[str, Harm, float, Manner]]:
    view = a_view()
    placed = {
        k: replace(i, cloud_id=k, address=f"198.18.128.{n + 2}")
        for n, (k, i) in enumerate(sorted(view.instances.items()))
    }
    hands = Hands(spares=spares)
    chaos = ChaosView("c", fault, keys, "game day", BEFORE, 60.0, ChaosManner(**manner))
    bring_about(lambda _: cast(CloudProvider, hands), replace(view, instances=placed), chaos)
    return hands.done


def test_a_split_from_brokers_names_all_but_the_victims() -> None:
    ((instance, harm, for_s, manner),) = done("split", A, cut_from="brokers", way="in")
    assert (instance, harm, for_s, manner.way) == (A, Harm.SPLIT, 60.0, Way.IN)
    assert manner.addresses == ("198.18.128.3", "198.18.128.4")
    assert not manner.everyone
    of_two = done("split", A, C, cut_from="brokers")
    assert {m.addresses for _, _, _, m in of_two} == {("198.18.128.3",)}, "two that are split off stay together"


def test_a_split_from_the_control_plane_leaves_the_brokers_together() -> None:
    ((_, _, _, manner),) = done("split", A, cut_from="control-plane")
    assert (manner.everyone, manner.addresses, manner.control_plane) == (False, (), True)


def test_percents_are_shares_and_mebibytes_are_bytes() -> None:
    ((_, _, _, lossy),) = done("packet-loss", A, loss_percent=20.0)
    assert lossy.loss == 0.2
    ((_, _, _, slow),) = done("slow-disk", A, mib_per_s=0.5)
    assert slow.bytes_per_s == 524288


@pytest.mark.parametrize(("spares", "begun"), [(A, False), (C, True)])
def test_a_fault_is_begun_once_it_was_done_to_one_of_its_vms(spares: str, begun: bool) -> None:
    with pytest.raises(CannotHarm) as raised:
        done("pause", A, C, spares=spares)
    assert raised.value.begun is begun
