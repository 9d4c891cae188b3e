"""Which documents an agent refuses."""

import json

import pytest

from agent.documents import Accepted, DocumentRejected, judge_document
from agent.wire import Document, LogDir
from tests.unit.agent.wanted import boot_data, broker, document


def judge(new: Document, current: Document | None = None) -> Accepted | DocumentRejected:
    return judge_document(new.model_dump_json().encode(), boot=boot_data(), current=current)


def test_the_first_document_is_accepted() -> None:
    assert judge(document(broker())) == Accepted(document(broker()), changed=True)


def test_a_newer_epoch_alone_changes_nothing_but_is_kept() -> None:
    verdict = judge(document(broker(), epoch=8), document(broker(), epoch=7))
    assert verdict == Accepted(document(broker(), epoch=8), changed=False)


def test_the_same_epoch_may_change_the_document() -> None:
    verdict = judge(document(broker("s-2")), document(broker("s-1")))
    assert isinstance(verdict, Accepted)
    assert verdict.changed


def test_an_older_epoch_is_refused() -> None:
    verdict = judge(document(broker("s-2"), epoch=6), document(broker(), epoch=7))
    assert isinstance(verdict, DocumentRejected)
    assert "epoch 6" in verdict.reason
    assert "epoch 7" in verdict.reason


@pytest.mark.parametrize("change", [{"node": "brokers-a-1"}, {"generation": 3}, {"cluster_uid": "c2"}])
def test_the_document_of_another_instance_is_refused(change: dict[str, object]) -> None:
    verdict = judge(document(broker()).model_copy(update=change))
    assert isinstance(verdict, DocumentRejected)
    assert "this VM is ('c1', 'brokers-a-0', 2)" in verdict.reason


def test_a_newer_wire_version_is_refused_even_if_it_has_another_shape() -> None:
    verdict = judge_document(json.dumps({"wire": 8, "units": []}).encode(), boot=boot_data(), current=None)
    assert isinstance(verdict, DocumentRejected)
    assert "wire version 8, this agent speaks 1, 2, 3, 4, 5, 6 and 7" in verdict.reason
    assert "update the agent" in verdict.reason


@pytest.mark.parametrize("raw", [b"", b"<html>", b"[]", b"{}", b'{"wire": 1}'])
def test_what_is_no_document_is_refused(raw: bytes) -> None:
    assert isinstance(judge_document(raw, boot=boot_data(), current=None), DocumentRejected)


def test_unknown_fields_of_a_newer_server_are_ignored() -> None:
    raw = {**document(broker()).model_dump(mode="json"), "later": 1}
    verdict = judge_document(json.dumps(raw).encode(), boot=boot_data(), current=None)
    assert verdict == Accepted(document(broker()), changed=True)


@pytest.mark.parametrize(
    "service",
    [
        broker(kafka_version="../4.1.1"),
        broker(address="../../etc"),
        broker(log_dirs=(LogDir(name="../data", volume="v", directory_id="d", fresh=True),)),
        broker(log_dirs=()),
    ],
)
def test_names_that_leave_their_directory_are_refused(service: object) -> None:
    assert isinstance(judge(document(service)), DocumentRejected)  # type: ignore[arg-type]


def test_a_service_listed_twice_is_refused() -> None:
    assert isinstance(judge(document(broker("s-1"), broker("s-2"))), DocumentRejected)
