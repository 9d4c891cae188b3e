"""Clusters whose nodes speak TLS are rebuilt with the CAs they believe, and with no others."""

from dataclasses import replace

import pytest

from agent.wire import Document
from controlplane.cluster.view import TLS_BROKER_PORT, TLS_CONTROLLER_PORT, ClusterView
from controlplane.cluster.views.security import at_rest
from controlplane.converger.questions.documents import document_after_release, document_for
from controlplane.server.rebuild.clusters import RebuiltCluster, rebuild_cluster
from controlplane.server.rebuild.evidence import FoundCluster, Weight
from controlplane.server.rebuild.read import as_it_lives
from controlplane.storage.certificates.cluster_authority import founded
from events import facts
from events.spec.document import load_documents
from events.spec.model import KafkaClusterDocument
from tests.builders import NOW, a_document, a_tls_document
from tests.unit.controlplane.server.rebuild.rebuild_evidence import UID, a_spec_file, found, what_ran
from tests.unit.events.spec_texts import ORDERS

MADE = founded(UID, now=NOW)
BELIEVED = facts.AuthoritiesMade(MADE.cluster.pem, MADE.clients.pem)


def what_ran_over_tls() -> ClusterView:
    ran = replace(what_ran(), document=a_tls_document())
    return replace(ran, vms=replace(ran.vms, authorities=BELIEVED))


def rebuilt(cluster: FoundCluster, document: KafkaClusterDocument) -> RebuiltCluster:
    return rebuild_cluster(cluster, a_spec_file(document), now=NOW)


def refusals(cluster: RebuiltCluster) -> list[str]:
    return [f.message for f in cluster.findings if f.weight is Weight.REFUSES]


def test_it_is_rebuilt_with_the_cas_its_nodes_believe_and_its_agents_are_told_nothing_new() -> None:
    ran = what_ran_over_tls()
    after = rebuilt(found(ran, authorities=BELIEVED), a_tls_document())
    assert refusals(after) == []
    assert after.view.vms.authorities == BELIEVED
    for key in ran.instances:
        before, told = document_for(ran, key, epoch=0), document_after_release(after.view, key)
        assert isinstance(told, Document)
        assert isinstance(before, Document)
        assert [s.tls for s in told.services] == [s.tls for s in before.services]
        assert {s.port for s in told.services} <= {TLS_BROKER_PORT, TLS_CONTROLLER_PORT}
    noted = [f for f in after.findings if f.weight is Weight.NOTED]
    assert [f.next_step for f in noted] == [
        "Once it is resumed: kedge restart orders --rolling, which gives each node a new one"
    ]


@pytest.mark.parametrize(
    ("missing", "told"),
    [
        pytest.param("", "this home has no copy of those", id="no copy"),
        pytest.param("the key of the cluster CA does not open", "does not open", id="another server key"),
    ],
)
def test_without_the_cas_it_is_refused_with_the_reason(missing: str, told: str) -> None:
    after = rebuilt(found(what_ran_over_tls(), authorities_missing=missing), a_tls_document())
    (message,) = refusals(after)
    assert told in message
    assert after.facts == ()


@pytest.mark.parametrize(
    ("ran", "document", "told"),
    [
        pytest.param(what_ran(), a_tls_document(), "speak plaintext among themselves", id="born in plaintext"),
        pytest.param(what_ran_over_tls(), a_document(), "speak TLS among themselves", id="born with TLS"),
    ],
)
def test_a_spec_that_says_otherwise_than_nodes_were_born_cannot_have_been_in_force(
    ran: ClusterView, document: KafkaClusterDocument, told: str
) -> None:
    (message,) = refusals(rebuilt(found(ran, authorities=BELIEVED), document))
    assert told in message


@pytest.mark.parametrize("document", [a_document(), a_tls_document()], ids=["back", "there"])
@pytest.mark.parametrize("position", [1, 2, 3, 4, 5])
def test_one_between_plaintext_and_tls_is_refused_as_its_next_step_is_in_the_history_alone(
    position: int, document: KafkaClusterDocument
) -> None:
    """Rebuilt as one at the end of the way, controllers would skip a step with their next start, and end themselves."""
    ran = what_ran_over_tls()
    on_its_way = replace(ran, settings=replace(ran.settings, security=at_rest(position)))
    (message,) = refusals(rebuilt(found(on_its_way, authorities=BELIEVED), document))
    assert "on its way between plaintext and TLS" in message


@pytest.mark.parametrize(
    ("cluster", "internal"),
    [
        pytest.param(found(what_ran()), "plaintext", id="its agents tell of plaintext"),
        pytest.param(found(what_ran_over_tls()), "tls", id="its agents tell of TLS"),
        pytest.param(found(what_ran(), vms=(), authorities=BELIEVED), "tls", id="it has CAs"),
    ],
)
def test_what_a_file_leaves_to_its_preset_is_what_the_nodes_speak(cluster: FoundCluster, internal: str) -> None:
    """A rebuild is no birth."""
    unsaid = load_documents(ORDERS.replace("spec:\n", "spec:\n  preset: production\n", 1), file="").documents[0]
    settled = as_it_lives(a_spec_file(unsaid), [cluster])
    assert settled.document.spec.security.internal == internal
    explicit = a_spec_file(a_document())
    assert as_it_lives(explicit, [cluster]) == explicit
