"""What each agent is told: a pure function of the view."""

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from agent.wire import OVERLAY_WIRE_VERSION, TLS_WIRE_VERSION, WIRE_VERSION, Document
from controlplane.cluster.lifecycle import Phase
from controlplane.converger.questions.documents import document_for
from controlplane.storage.certificates.principals import principals_of
from events import facts
from events.spec.client_security import ClientSecurity
from events.spec.network import NetworkSpec, OverlaySpec
from events.spec.security import Authentication, Listener
from tests.builders import BEFORE, a_document, a_tls_document, a_view, an_instance


def _of(*instances: object, key: str = "brokers-a-0.g1", **view: object) -> Document | None:
    return document_for(a_view(*instances, **view), key, epoch=7)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("phase", "state"),
    [
        (Phase.REQUESTED, ""),
        (Phase.LAUNCHED, "running"),
        (Phase.JOINED, "running"),
        (Phase.DRAINING, "running"),
        (Phase.LINGERING, "running"),
        (Phase.FENCING, "stopped"),
        (Phase.FENCED, "stopped"),
        (Phase.FAILED, "stopped"),
        (Phase.RETIRING, "stopped"),
    ],
)
def test_the_phase_says_whether_the_service_runs(phase: Phase, state: str) -> None:
    document = _of(an_instance("brokers-a-0", 1, phase))
    assert document is not None
    assert [s.state for s in document.services] == ([state] if state else [])


def test_levels_of_loggers_are_those_of_its_pool_in_the_spec_in_force() -> None:
    spec = a_document()
    pools = [
        p.model_copy(update={"log_levels": {"root": "WARN"}}) if p.name == "brokers" else p for p in spec.spec.pools
    ]
    spec = spec.model_copy(update={"spec": spec.spec.model_copy(update={"pools": tuple(pools)})})
    told = {}
    for node, number in (("brokers-a-0", 1), ("controllers-a-0", 1)):
        document = _of(an_instance(node, number, Phase.JOINED), key=f"{node}.g1", document=spec)
        assert document is not None
        told[node] = document.services[0].log_levels
    assert told == {"brokers-a-0": {"root": "WARN"}, "controllers-a-0": {}}


def test_a_retired_an_unknown_and_a_deleted_one_get_no_document() -> None:
    assert _of(an_instance("brokers-a-0", 1, Phase.RETIRED)) is None
    assert _of(key="brokers-z-9.g1") is None
    assert _of(deleted=True) is None


def test_before_the_quorum_is_founded_there_is_no_service_yet() -> None:
    document = _of(founding=None)
    assert document is not None
    assert document.services == ()


def test_a_successor_without_its_volume_has_no_service_yet() -> None:
    """`stopped` would be kept by its agent for good."""
    document = _of(an_instance("controllers-a-0", 2, Phase.LAUNCHED), key="controllers-a-0.g2")
    assert document is not None
    assert document.services == ()


def test_a_successor_serves_the_volume_of_its_node_under_its_nodes_id_and_address() -> None:
    document = _of(an_instance("controllers-a-0", 2, Phase.LAUNCHED, bound=True), key="controllers-a-0.g2")
    assert document is not None
    service = document.services[0]
    assert (service.node_id, service.address, service.founder) == (100, "node-address-controllers-a-0", False)
    assert [(d.volume, d.fresh) for d in service.log_dirs] == [("controllers-a-0.data.v1", False)]


def test_a_filesystem_is_made_only_for_a_vm_that_never_served() -> None:
    fresh = _of(an_instance("brokers-a-0", 2, Phase.LAUNCHED), key="brokers-a-0.g2")
    served = _of(an_instance("brokers-a-0", 1, Phase.JOINED))
    again = _of(an_instance("brokers-a-0", 2, Phase.LAUNCHED, starts=2), key="brokers-a-0.g2")
    told = [d.services[0].log_dirs[0].fresh for d in (fresh, served, again) if d is not None]
    assert told == [True, False, False]


def test_everybody_is_told_the_whole_quorum_and_its_own_start() -> None:
    document = _of(an_instance("brokers-a-0", 1, starts=3))
    assert document is not None
    service = document.services[0]
    assert [v.id for v in service.voters] == [100, 101, 102]
    assert (service.start_id, service.port, service.rack, document.epoch) == ("brokers-a-0.g1-3", 9092, "a", 7)


def test_controllers_are_told_where_the_clusters_producer_ids_begin_and_those_of_before_are_not() -> None:
    founding = a_view().quorum.founding
    assert founding is not None
    for first in (5 * 2**44, None):
        view = a_view(founding=replace(founding, first_producer_id=first))
        told = {key: d.services[0] for key in view.instances if (d := document_for(view, key, epoch=1))}
        assert {s.first_producer_id for s in told.values() if s.name == "controller"} == {first}
        assert {s.first_producer_id for s in told.values() if s.name == "broker"} == {None}


def test_only_controllers_of_the_first_generation_are_founders() -> None:
    view = a_view()
    founding = {key: d.services[0].founder for key in view.instances if (d := document_for(view, key, epoch=1))}
    assert {k for k, founder in founding.items() if founder} == {k for k in founding if k.startswith("controllers")}


@pytest.mark.parametrize(("policy", "state"), [("destroy", "stopped"), ("retain", "running")])
def test_a_doomed_cluster_stops_unless_it_is_retained(policy: str, state: str) -> None:
    document = _of(tombstone="asked for", tombstone_at=BEFORE, document=a_document(deletion=policy))
    assert document is not None
    assert document.services[0].state == state


DOOMED: dict[str, Any] = {"tombstone": "it is over", "tombstone_at": BEFORE, "document": a_document(deletion="destroy")}


@pytest.mark.parametrize(
    ("told_at", "phase", "said"),
    [
        (None, Phase.JOINED, ("running", False)),
        (None, Phase.FENCED, ("stopped", True)),
        (BEFORE, Phase.JOINED, ("stopped", True)),
    ],
    ids=["brokers still stop", "it had left the quorum before", "brokers have stopped"],
)
def test_a_controller_of_a_doomed_cluster_serves_until_its_brokers_have_stopped(
    told_at: datetime | None, phase: Phase, said: tuple[str, bool]
) -> None:
    controller = an_instance("controllers-a-0", 1, phase)
    document = _of(controller, key=controller.key, quorum_stop_at=told_at, **DOOMED)
    assert document is not None
    assert [(s.state, s.gives_volumes) for s in document.services] == [said]


@pytest.mark.parametrize("told_at", [None, BEFORE])
def test_a_server_beside_a_broker_outlives_it_on_their_disk(told_at: datetime | None) -> None:
    """The server's directory is on the broker's disk: it keeps that for as long as it runs."""
    host = an_instance("brokers-a-0", 1, member=facts.PlannedMember(101, "directory-of-server", 512))
    document = _of(host, quorum_stop_at=told_at, **DOOMED)
    assert document is not None
    server = ("zookeeper", "running", False) if told_at is None else ("zookeeper", "stopped", True)
    assert [(s.name, s.state, s.gives_volumes) for s in document.services] == [("broker", "stopped", True), server]


@pytest.mark.parametrize("phase", [Phase.FENCING, Phase.FENCED, Phase.RELEASED, Phase.RETIRING])
def test_who_stops_for_good_gives_its_disks_back(phase: Phase) -> None:
    """A retired broker had its disk mounted until its VM was gone, which AWS waits for before it deletes the VM."""
    document = _of(an_instance("brokers-a-0", 1, phase))
    assert document is not None
    assert [(s.state, s.gives_volumes) for s in document.services] == [("stopped", True)]


def test_both_services_of_a_vm_that_goes_give_their_disk_back() -> None:
    member = facts.PlannedMember(101, "directory-of-server", 512)
    document = _of(an_instance("brokers-a-0", 1, Phase.RETIRING, member=member))
    assert document is not None
    assert [(s.name, s.state, s.gives_volumes) for s in document.services] == [
        ("broker", "stopped", True),
        ("zookeeper", "stopped", True),
    ]


def test_a_broker_that_is_to_serve_again_keeps_its_disks() -> None:
    """Metadata newer than its stop named it: it is started anew, on the disk its agent may have unmounted meanwhile."""
    document = _of(an_instance("brokers-a-0", 1, Phase.JOINED, starts=2))
    assert document is not None
    assert [(s.state, s.gives_volumes) for s in document.services] == [("running", False)]


def test_all_give_their_disks_back_before_their_cluster_is_destroyed_and_none_where_it_is_kept() -> None:
    destroyed, kept = (
        _of(tombstone="it is over", document=a_document(deletion=policy)) for policy in ("destroy", "retain")
    )
    assert destroyed is not None
    assert kept is not None
    assert [s.gives_volumes for s in destroyed.services] == [True]
    assert [s.gives_volumes for s in kept.services] == [False]


def test_a_node_that_speaks_tls_is_told_its_listeners_and_whom_it_lets_do_everything() -> None:
    there = (an_instance("brokers-a-0", 1, Phase.JOINED), an_instance("controllers-a-0", 1, Phase.JOINED))
    told = {}
    for instance in there:
        document = _of(*there, key=instance.key, document=a_tls_document())
        assert document is not None
        assert document.wire == TLS_WIRE_VERSION
        told[instance.planned.service] = document.services[0]
    broker, controller = told["broker"], told["controller"]
    assert (broker.port, controller.port) == (9091, 9090)
    assert broker.tls is not None
    assert controller.tls is not None
    assert [(one.name, one.port, one.security) for one in broker.tls.listeners] == [
        ("TLS", 9094, "tls"),
        ("PLAINTEXT", 9092, "plaintext"),
    ]
    assert controller.tls.listeners == ()
    assert broker.tls.super_users == controller.tls.super_users
    before = principals_of(a_view().uid).super_users(least_rights=False)
    assert broker.tls.super_users[:2] == before, "started by a release before Kedge had rights of its own"
    assert broker.tls.super_users[2:] == ("User:ANONYMOUS",), "who is not asked may do what they may without TLS"


def test_who_was_started_since_kedge_has_rights_of_its_own_has_nodes_alone_as_super_users() -> None:
    document = _of(an_instance("brokers-a-0", 1, Phase.JOINED, least_rights=True), document=a_tls_document())
    assert document is not None
    tls = document.services[0].tls
    assert tls is not None
    assert tls.super_users == (principals_of(a_view().uid).principal("node"), "User:ANONYMOUS")


def test_others_get_a_document_of_the_version_that_all_agents_know() -> None:
    document = _of()
    assert document is not None
    assert document.wire == WIRE_VERSION
    assert document.services[0].tls is None


def test_a_broker_is_told_the_listeners_of_its_last_start_and_its_super_users_by_name() -> None:
    scram = Listener(name="SCRAM", port=9095, security="tls", authentication=Authentication(type="scram-sha-512"))
    security = ClientSecurity(listeners=(scram,), super_users=("root",))
    document = _of(an_instance("brokers-a-0", 1, Phase.JOINED, security=security), document=a_tls_document())
    assert document is not None
    told = document.services[0].tls
    assert told is not None
    assert [(one.name, one.authentication, one.reauthenticate_s) for one in told.listeners] == [
        ("SCRAM", "scram-sha-512", 3600)
    ]
    assert told.super_users[2:] == ("User:root",)


def test_in_a_cluster_with_an_overlay_each_vm_is_told_its_part_of_it_from_its_first_document_on() -> None:
    """Before it has a service: by then its key is made, and known to the others."""
    plain, tls = a_document(), a_tls_document()
    network = NetworkSpec(overlay=OverlaySpec(type="wireguard", port=40_000))
    for spec, without in ((plain, WIRE_VERSION), (tls, TLS_WIRE_VERSION)):
        with_overlay = spec.model_copy(update={"spec": spec.spec.model_copy(update={"network": network})})
        born = an_instance("brokers-a-0", 1, Phase.LAUNCHED, bound=False)
        told = _of(born, document=with_overlay, overlay_keys={"brokers-b-0.g1": {1: "key"}})
        assert told is not None
        assert told.overlay is not None
        assert (told.wire, told.services) == (OVERLAY_WIRE_VERSION, ())
        assert [link.port for link in told.overlay.links] == [40_000, 40_001]
        assert [peer.node for peer in told.overlay.peers] == ["brokers-b-0"]
        other = _of(document=spec)
        assert other is not None
        assert (other.wire, other.overlay) == (without, None)
