"""What this release wrote, later releases must read: one stored sample of each event type, decoded and folded.

`KEDGE_CORPUS=add python -m pytest tests/unit/controlplane/cluster/test_cluster_corpus.py` writes the files that are
missing. A file that is there is never written again: when a schema changes, the old sample stays and a new one joins
it.
"""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from controlplane.cluster.fold import _APPLY, evolve
from events import anomaly_facts as anomalies, facts, proposal_facts as proposals
from events.codec import decode, encode
from events.envelope import Recorded
from events.registry import REGISTRY, FactType
from events.spec.conversion import from_data, to_data
from tests.builders import NOW, a_view
from tests.unit.controlplane import failover_samples
from tests.unit.controlplane.samples import SAMPLES, states

CORPUS = Path(__file__).parent / "corpus"
OF_NETWORKS = {
    facts.NetworkRequested,
    facts.NetworkZonesRequested,
    facts.NetworkMade,
    facts.NetworkChangeRequested,
    facts.NetworkChanged,
    facts.NetworkRemovalRequested,
    facts.NetworkRemovalDropped,
    facts.NetworkRemoved,
    facts.NetworkRunFailed,
}
OF_OTHER_STREAMS = {
    facts.AgentPublished,
    facts.AgentWithdrawn,
    facts.AgentRolloutResumed,
    facts.FreezeDeclared,
    facts.FreezeThawed,
    facts.NameTaken,
    facts.SourceApplied,
    facts.SourceRewritten,
    facts.SourceAccepted,
    *OF_NETWORKS,
    anomalies.AnomalyFound,
    anomalies.AnomalyChanged,
    facts.ImagePublished,
    facts.ImageWithdrawn,
    proposals.ProposalMade,
    proposals.ProposalApproved,
    proposals.ProposalRejected,
    proposals.ProposalVoided,
    proposals.ProposalExecuted,
    *(type(one) for one in failover_samples.ONE_OF_EACH),
}
OURS: list[FactType] = [entry for entry in REGISTRY if entry.cls.__module__.startswith("events.")]


def _file(entry: FactType) -> Path:
    return CORPUS / f"{entry.name}.{entry.schema}.json"


def _stored(path: Path) -> Recorded:
    kept = json.loads(path.read_text())
    return Recorded(
        1, "cluster-c0ffee", 21, "e", kept["type"], kept["schema"], kept["data"], "converger", None, None, 1, NOW
    )


if os.environ.get("KEDGE_CORPUS") == "add":
    for sample in SAMPLES:
        new = encode(sample, "e")
        path = CORPUS / f"{new.type}.{new.schema}.json"
        if not path.exists():
            kept = {"type": new.type, "schema": new.schema, "data": new.data}
            path.write_text(json.dumps(kept, indent=2, sort_keys=True) + "\n")

FILES = sorted(CORPUS.glob("*.json"))


@pytest.mark.parametrize("entry", OURS, ids=lambda e: e.name)
def test_every_event_type_has_a_sample_of_its_present_schema(entry: FactType) -> None:
    assert _file(entry).exists(), f"run with KEDGE_CORPUS=add and commit {_file(entry).name}"


@pytest.mark.parametrize("entry", OURS, ids=lambda e: e.name)
def test_every_event_type_of_a_cluster_has_a_rule(entry: FactType) -> None:
    assert (entry.cls in _APPLY) != (entry.cls in OF_OTHER_STREAMS)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_a_stored_event_is_still_decoded(path: Path) -> None:
    recorded = _stored(path)
    assert f"{recorded.type}.{recorded.schema}" == path.stem
    assert type(decode(recorded)) is REGISTRY.of_type(recorded.type).cls


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_a_stored_event_is_still_folded(path: Path) -> None:
    recorded = _stored(path)
    fact = decode(recorded)
    before = states().get(type(fact), a_view())
    after = evolve(before, recorded)
    if type(fact) in OF_OTHER_STREAMS:
        assert after.history.unreadable
        return
    assert not after.history.unreadable
    assert after.version == recorded.version
    assert replace(after, version=before.version, history=before.history) != before


def test_the_samples_are_what_the_corpus_holds() -> None:
    """A sample changed in code would hide that the stored one can no longer be written."""
    for sample in SAMPLES:
        stored = decode(_stored(_file(REGISTRY.of_fact(sample))))
        if isinstance(stored, facts.ClusterDeclared):
            # Keys that came to the spec later take their defaults.
            stored = replace(stored, document=to_data(from_data(stored.document)))
        assert stored == sample
