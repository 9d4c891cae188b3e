"""What a history says "in words" is words: no names of fields, no bare bytes, no batch 0."""

import pytest

from controlplane.api.read_models.changes import changes_of
from controlplane.api.read_models.event_words import WORDS
from events.codec import encode
from events.envelope import Recorded
from tests.builders import NOW
from tests.unit.controlplane.samples import SAMPLES

RAW = ("key", "keys", "service_id", "bytes", "batch 0", "proof", "level", "node")
"""As fields are called, and the number of a first batch as it is recorded."""
ENCODED = {new.type: new for new in (encode(sample, "e") for sample in SAMPLES)}


def told(kind: str) -> str:
    new = ENCODED[kind]
    event = Recorded(1, "cluster-u1", 1, "e", kind, new.schema, new.data, "converger", None, None, 1, NOW)
    (change,) = changes_of([event])
    return change.sentence


@pytest.mark.parametrize("kind", WORDS)
def test_what_comes_most_in_a_history_is_told_in_a_sentence(kind: str) -> None:
    sentence = told(kind)
    assert sentence
    assert not any(f"{raw} " in f"{sentence} " for raw in RAW)


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("instance.joined", "brokers-a-0.g2 has joined, its id is 1003"),
        ("drain.batch_started", "batch 1 began: 6 moves, 300 B"),
        ("instance.drained", "brokers-a-0.g1 emptied: 12 moves, 600 B"),
        ("replacement.completed", "brokers-a-0.g2 has taken the place of brokers-a-0.g1"),
        ("retire.completed", "what was to be deleted is gone"),
    ],
)
def test_batches_count_from_one_and_bytes_have_a_unit(kind: str, sentence: str) -> None:
    assert told(kind) == sentence
