"""`KEDGE_AGENT_PROMETHEUS`: where the agent serves its metrics."""

from pathlib import Path

import pytest

from agent.host_port import HostPort
from agent.settings import AgentSettings, AgentSettingsRefused


def of(text: str) -> HostPort | None:
    environ = {"KEDGE_KAFKA_DIR": "/opt/kafka", "KEDGE_AGENT_PROMETHEUS": text}
    return AgentSettings.from_env(root=Path("/"), environ=environ).prometheus


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("", None),
        ("127.0.0.1:9404", HostPort("127.0.0.1", 9404)),
        ("[::1]:9404", HostPort("::1", 9404)),
        ("vm.local:1", HostPort("vm.local", 1)),
    ],
)
def test_it_is_a_host_and_a_port(text: str, meant: HostPort | None) -> None:
    assert of(text) == meant


@pytest.mark.parametrize("text", ["9404", ":9404", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:http"])
def test_anything_else_is_refused_by_name(text: str) -> None:
    with pytest.raises(AgentSettingsRefused, match=r"KEDGE_AGENT_PROMETHEUS=.*expected HOST:PORT"):
        of(text)
