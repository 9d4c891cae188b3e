"""Which door of a cluster Kedge uses, and by what names nodes of one that speaks TLS are added."""

from contextlib import contextmanager
from typing import Any

import pytest

from controlplane.cluster.gateways import bootstrap_of
from controlplane.kafka.admin import AdminGateway
from controlplane.kafka.admin_calls.calls import TLS_CONTROLLER_LISTENER
from controlplane.kafka.deadline import Deadline
from tests.builders import a_document, a_tls_document, a_view


class Dialled:
    """Brokers that take everything."""

    name = "orders"

    def __init__(self) -> None:
        self.asked: list[Any] = []

    @contextmanager
    def dial(self, cluster: str, bootstrap: object, deadline: Deadline) -> Any:
        yield self

    def ask(self, request: Any, *, what: str, deadline: Deadline, node: int | None = None) -> Any:
        self.asked.append(request)
        raise RuntimeError("that is all a test wants to know")

    def hang_up(self, cluster: str) -> None: ...

    def close(self) -> None: ...


def test_kedge_dials_brokers_that_speak_tls_where_they_speak_to_one_another() -> None:
    assert all(address.endswith(":9091") for address in bootstrap_of(a_view(document=a_tls_document())))
    assert all(address.endswith(":9092") for address in bootstrap_of(a_view(document=a_document())))


def test_a_voter_is_added_by_the_name_its_listener_has() -> None:
    there = Dialled()
    gateway = AdminGateway(there, "orders", ["10.0.0.1:9091"], mode="kraft", quorum_listener=TLS_CONTROLLER_LISTENER)
    with pytest.raises(RuntimeError):
        gateway.add_voter(103, "Y29udHJvbGxlci1kaXItMA", host="10.0.0.4", port=9090)
    (request,) = there.asked
    assert [(one.name, one.host, one.port) for one in request.listeners] == [("CONTROLPLANE", "10.0.0.4", 9090)]
