"""A real server each of whose ticks fails: the condition tells it, with the reason, until the cause has gone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controlplane.storage.home import Home
from providers.local.layout import Layout
from tests.contract.server_process import eventually
from tests.contract.test_api_server import PAUSED, Server
from tests.contract.test_server_outages import start

__all__ = ["start"]

pytestmark = pytest.mark.timeout(240)


def test_an_error_that_nobody_expected_is_told_as_a_failing_tick_until_its_cause_is_gone(
    start: Callable[..., Server], tmp_path: Path
) -> None:
    home = Home(tmp_path / "home")
    server = start(home)
    assert server.post("/v1/apply", {"text": PAUSED}).status_code == 200
    eventually(lambda: "Paused" in _status(server), server)
    strange = _a_record_without_tags(home)
    eventually(lambda: "TickFailing" in _status(server), server)
    failing = _status(server)["TickFailing"]
    assert failing["reason"] == "Unexpected"
    assert "while looking at it: KeyError: 'tags'" in failing["message"]
    assert failing["message"].endswith("Next: kedge events orders")
    assert "Converged" not in _status(server)
    assert server.is_alive
    strange.unlink()
    eventually(lambda: "TickFailing" not in _status(server), server)
    assert "Paused" in _status(server), "what stood before stands again"


def _status(server: Server) -> dict[str, Any]:
    """Conditions that are true, by type."""
    conditions = server.get("/v1/clusters/orders").json()["conditions"]
    return {c["type"]: c for c in conditions if c["status"]}


def _a_record_without_tags(home: Home) -> Path:
    """A VM of the local cloud as no release of Kedge writes it."""
    record = Layout(home.path / "local", "local-1").instances / "0" / "one.g1" / "vm.json"
    record.parent.mkdir(parents=True)
    record.write_text('{"address": "127.0.0.1"}')
    return record
