"""The wire: bytes of our own messages, text forms of ids, and which error means what."""

import uuid

import pytest

from controlplane.kafka.errors import KafkaRefused, KafkaUnavailable, fault_of
from controlplane.kafka.raw import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    RemoveRaftVoterRequest,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
    directory_text,
    directory_uuid,
)


def test_unregister_broker_has_the_bytes_kafka_expects() -> None:
    assert UnregisterBrokerRequest(broker_id=3).encode(version=0).hex() == "0000000300"


def test_add_voter_has_the_bytes_kafka_expects_in_both_versions() -> None:
    request = AddRaftVoterRequest(
        cluster_id="x",
        timeout_ms=1,
        voter_id=2,
        voter_directory_id=uuid.UUID(int=5),
        listeners=[AddRaftVoterRequest.Listener(name="C", host="h", port=9093)],
    )
    body = "0278" + "00000001" + "00000002" + f"{5:032x}" + "02" + "0243" + "0268" + "2385" + "00"
    assert request.encode(version=0).hex() == body + "00"
    assert request.encode(version=1).hex() == body + "01" + "00", "version 1 waits for the commit"


def test_remove_voter_names_id_and_directory() -> None:
    request = RemoveRaftVoterRequest(cluster_id=None, voter_id=7, voter_directory_id=uuid.UUID(int=1))
    assert request.encode(version=0).hex() == "00" + "00000007" + f"{1:032x}" + "00"


def test_answers_are_decoded_with_kafkas_words() -> None:
    answer = UnregisterBrokerResponse.decode(bytes.fromhex("00000000" + "0066" + "04616263" + "00"), version=0)
    assert (answer.error_code, answer.error_message) == (102, "abc")
    silent = AddRaftVoterResponse.decode(bytes.fromhex("00000000" + "007e" + "00" + "00"), version=1)
    assert (silent.error_code, silent.error_message) == (126, None)


def test_directory_ids_have_kafkas_text_form() -> None:
    text = "CSnKsACqWL2QdNr26bSUNw"
    assert directory_uuid(text).hex == "0929cab000aa58bd9074daf6e9b49437"
    assert directory_text(directory_uuid(text)) == text
    assert directory_text("0929cab0-00aa-58bd-9074-daf6e9b49437") == text
    assert directory_text(None) == "A" * 22, "a voter of a static quorum"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (7, KafkaUnavailable),  # REQUEST_TIMED_OUT: a voter that lags
        (41, KafkaUnavailable),  # NOT_CONTROLLER
        (77, KafkaUnavailable),  # STALE_BROKER_EPOCH
        (-1, KafkaUnavailable),
        (39, KafkaRefused),  # INVALID_REPLICA_ASSIGNMENT
        (95, KafkaRefused),  # INVALID_UPDATE_VERSION
        (31, KafkaRefused),  # CLUSTER_AUTHORIZATION_FAILED
    ],
)
def test_an_error_code_says_later_or_never(code: int, kind: type[Exception]) -> None:
    assert type(fault_of(code, "words", what="trying", where="here")) is kind


def test_a_message_says_what_where_why_and_what_next() -> None:
    refused = fault_of(95, "Broker 3 only supports versions 7-27", what="finalising metadata.version 29", where="c1")
    assert str(refused) == (
        'finalising metadata.version 29 at c1 failed: Kafka said "Broker 3 only supports versions 7-27" '
        "(InvalidUpdateVersionError). The same request will be refused again: change what it asks for."
    )
    later = KafkaUnavailable(what="reading metadata", where="c1", why="no broker answers")
    assert str(later).endswith("no broker answers. Look again at the next tick before repeating it.")
