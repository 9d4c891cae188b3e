"""What answers agents alone, by its settings: where it may run, and where it listens beside others."""

from contextlib import closing
from pathlib import Path

import pytest

from controlplane.runtime.listen_addresses import CannotListen, listening
from controlplane.server.settings import ServerSettingsRefused, load_settings

DATABASE, HOST = "postgresql://db/kedge", "127.0.43.12"


def test_it_needs_postgresql(tmp_path: Path) -> None:
    with pytest.raises(ServerSettingsRefused, match="only = 'agents' needs PostgreSQL"):
        load_settings(home=tmp_path, only="agents", agent_host=HOST)
    assert load_settings(home=tmp_path, only="agents", agent_host=HOST, database_url=DATABASE).agents.over_tls


def test_it_needs_an_address_to_listen_at(tmp_path: Path) -> None:
    with pytest.raises(ServerSettingsRefused, match=r"only = 'agents' needs agents\.host"):
        load_settings(home=tmp_path, only="agents", database_url=DATABASE)


def test_a_server_that_leaves_agents_to_others_says_where_they_call(tmp_path: Path) -> None:
    with pytest.raises(ServerSettingsRefused, match=r"agents\.apart needs agents\.name"):
        load_settings(home=tmp_path, database_url=DATABASE, agents={"apart": True})
    apart = load_settings(home=tmp_path, database_url=DATABASE, agents={"apart": True, "name": "kedge.example.com"})
    assert (apart.agents.called, apart.agents.over_tls) == ("kedge.example.com", True)
    with pytest.raises(ServerSettingsRefused, match="is not a host name"):
        load_settings(home=tmp_path, database_url=DATABASE, agents={"apart": True, "name": "https://kedge"})


def test_on_sqlite_nobody_else_can_answer_them(tmp_path: Path) -> None:
    with pytest.raises(ServerSettingsRefused, match=r"agents\.apart leaves agents to `kedge server --only agents`"):
        load_settings(home=tmp_path, agents={"apart": True, "name": "kedge.example.com"})


def test_processes_that_answer_agents_share_a_port_and_nobody_else_gets_in() -> None:
    with closing(listening(HOST, 0, shared=True)) as first:
        port = first.getsockname()[1]
        listening(HOST, port, shared=True).close()
        with pytest.raises(CannotListen):
            listening(HOST, port)
    with closing(listening(HOST, 0)) as alone, pytest.raises(CannotListen):
        listening(HOST, alone.getsockname()[1], shared=True)
