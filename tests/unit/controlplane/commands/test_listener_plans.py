"""What a plan says of other listeners and another authorization where nodes speak TLS, and whom firewalls let in
meanwhile."""

from dataclasses import replace

from controlplane.cluster.view import ClusterView
from controlplane.commands.previews.client_security import SECURITY_RESTARTS
from controlplane.commands.previews.plan import FIREWALLS_ALONE, OTHER_ADDRESSES, preview
from controlplane.fleet.networks.reconciler import _ports
from events.spec.client_security import client_security
from events.spec.model import KafkaClusterDocument
from events.spec.security import Authentication, Authorization, Listener
from planner.rollout.desired import desired_nodes, listeners_in_digest
from planner.rollout.diff import Change
from tests.builders import NODES, a_document, a_tls_document, a_view, an_instance

SCRAM = Listener(name="SCRAM", port=9095, security="tls", authentication=Authentication(type="scram-sha-512"))
BEFORE = a_tls_document()
TLS, PLAINTEXT = BEFORE.spec.listeners


def _said(*listeners: Listener, **authorization: object) -> KafkaClusterDocument:
    said = Authorization.model_validate(authorization) if authorization else None
    update = {"listeners": listeners, "authorization": said}
    return BEFORE.model_copy(update={"spec": BEFORE.spec.model_copy(update=update)})


def _living(document: KafkaClusterDocument = BEFORE) -> ClusterView:
    digests = {n.node: n.digest for n in desired_nodes(document)}
    there = [
        an_instance(
            node,
            digest=digests[node],
            born_with=dict(document.spec.kafka.config),
            config=dict(document.spec.kafka.config),
            security=client_security(document, "broker" if node.startswith("brokers") else "controller"),
            born_listeners=listeners_in_digest(document),
        )
        for node in NODES
    ]
    return a_view(*there, document=document)


def test_another_listener_is_a_restart_of_brokers_in_place() -> None:
    found = preview(_living(), _said(TLS, PLAINTEXT, SCRAM, anonymous="full"), snapshot=None)
    steps = [s for phase in found.rollout.phases for s in phase.steps]
    assert {(s.node.partition("-")[0], s.change) for s in steps} == {("brokers", Change.RESTART)}
    assert found.effects["spec.listeners[SCRAM]"] == SECURITY_RESTARTS
    assert any("listener SCRAM is whole once the last broker" in w for w in found.warnings)


def test_a_listener_that_goes_cuts_off_its_clients_and_the_plan_says_so() -> None:
    found = preview(_living(_said(TLS, SCRAM, anonymous="full")), _said(SCRAM, anonymous="refuse"), snapshot=None)
    assert found.effects["spec.authorization.anonymous"] == SECURITY_RESTARTS
    assert any("listener TLS (port 9094) goes: its clients are cut off" in w for w in found.warnings)
    closed = preview(_living(_said(TLS, SCRAM, anonymous="full")), _said(TLS, SCRAM, anonymous="refuse"), snapshot=None)
    assert any("clients of listener TLS may do nothing" in w for w in closed.warnings)
    given = preview(_living(_said(TLS, SCRAM, anonymous="refuse")), _said(TLS, SCRAM, anonymous="full"), snapshot=None)
    assert "whoever is not asked may do everything from then on" in given.warnings


def test_a_start_that_takes_kedge_out_of_the_super_users_says_so() -> None:
    """Of a cluster of before: its ACLs are there, and each service is told with its next start."""
    before, other = _living(), _said(TLS, PLAINTEXT, SCRAM, anonymous="full")
    said = "with this start 3 services (brokers-a-0.g1, brokers-b-0.g1, brokers-c-0.g1) take Kedge out of super.users"
    begun = replace(before, settings=replace(before.settings, least_rights=True))
    assert [w for w in preview(begun, other, snapshot=None).warnings if w.startswith(said)]
    assert not [w for w in preview(before, other, snapshot=None).warnings if "super.users" in w], "not begun yet"
    assert not [w for w in preview(begun, BEFORE, snapshot=None).warnings if "super.users" in w], "nobody starts anew"
    told = {k: replace(i, start=replace(i.start, least_rights=True)) for k, i in begun.instances.items()}
    after = replace(begun, instances=told)
    assert not [w for w in preview(after, other, snapshot=None).warnings if "super.users" in w]


def test_what_says_the_same_in_other_words_restarts_nobody() -> None:
    found = preview(_living(), _said(PLAINTEXT, TLS, anonymous="full"), snapshot=None)
    assert found.rollout.phases == ()
    assert set(found.effects.values()) == {"changes nothing: the services have it"}


def test_other_clients_of_a_listener_are_a_change_of_firewalls_alone() -> None:
    office = TLS.model_copy(update={"clients": ("192.168.8.0/24",)})
    for was, now in ((TLS, office), (office, TLS), (office, office.model_copy(update={"clients": ()}))):
        found = preview(_living(_said(was, PLAINTEXT)), _said(now, PLAINTEXT), snapshot=None)
        assert found.rollout.phases == ()
        assert found.effects == {"spec.listeners[TLS].clients": FIREWALLS_ALONE}
        assert [change.field_class for change in found.changes] == ["behavioural"]


def test_where_nodes_speak_plaintext_they_are_that_too() -> None:
    document = a_document()
    listener = document.spec.listeners[0].model_copy(update={"clients": ("192.168.8.0/24",)})
    other = document.model_copy(update={"spec": document.spec.model_copy(update={"listeners": (listener,)})})
    digests = {n.node: n.digest for n in desired_nodes(document)}
    assert digests == {n.node: n.digest for n in desired_nodes(other)}
    born = listeners_in_digest(document)
    there = [an_instance(n, digest=digests[n], born_listeners=born, born_with={}) for n in NODES]
    found = preview(a_view(*there), other, snapshot=None)
    assert (found.rollout.phases, set(found.effects.values())) == ((), {FIREWALLS_ALONE})


def test_where_nodes_speak_plaintext_another_port_still_makes_new_vms() -> None:
    document = a_document()
    listener = document.spec.listeners[0].model_copy(update={"port": 9192})
    other = document.model_copy(update={"spec": document.spec.model_copy(update={"listeners": (listener,)})})
    there = [an_instance(node, born_listeners=listeners_in_digest(document), born_with={}) for node in NODES]
    found = preview(a_view(*there), other, snapshot=None)
    assert set(found.effects.values()) == {OTHER_ADDRESSES}
    assert {s.change for phase in found.rollout.phases for s in phase.steps} == {Change.REPLACE}


def test_a_port_is_open_before_the_first_broker_listens_there_and_until_the_last_one_does_not() -> None:
    view = _living(_said(TLS, PLAINTEXT))
    changed = a_view(*view.instances.values(), document=_said(TLS, SCRAM))
    assert {9092, 9094, 9095} <= set(_ports(changed).brokers)
    assert 9095 not in _ports(view).brokers
    assert 9092 not in _ports(_living(_said(TLS, SCRAM))).brokers
