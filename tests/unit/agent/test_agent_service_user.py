"""The user of services: what becomes its own, in what order, and what is refused."""

import os
import pwd
from pathlib import Path

import pytest

from agent.durable import open_plain
from agent.layout import AgentLayout
from agent.service_user import NoSuchUser, ServiceUser, service_user
from agent.settings import AgentSettings

ME = pwd.getpwuid(os.geteuid()).pw_name


def test_the_agents_own_user_may_always_run_services() -> None:
    assert service_user(ME) == ServiceUser(ME, os.geteuid(), pwd.getpwnam(ME).pw_gid)


def test_a_user_that_is_not_there_is_named_with_how_to_make_it() -> None:
    with pytest.raises(NoSuchUser, match="no user kedge-nobody: useradd --system kedge-nobody"):
        service_user("kedge-nobody")


def test_the_setting_names_the_user_and_without_it_services_are_the_agents_own(tmp_path: Path) -> None:
    given = {"KEDGE_KAFKA_DIR": str(tmp_path)}
    assert AgentSettings.from_env(root=tmp_path, environ=given).run_as == ""
    assert AgentSettings.from_env(root=tmp_path, environ={**given, "KEDGE_AGENT_RUN_AS": "kafka"}).run_as == "kafka"


def test_what_a_user_of_its_own_reads_and_writes_is_not_among_the_agents_own_files(tmp_path: Path) -> None:
    """The agent's own directory has mode 0700."""
    shared, apart = AgentLayout(tmp_path), AgentLayout(tmp_path, services_apart=True)
    assert shared.service_dir("broker").is_relative_to(shared.state)
    assert not apart.service_dir("broker").is_relative_to(apart.state)
    assert shared.service_log("broker") == tmp_path / "logs" / "broker.log"
    assert apart.service_log("broker") == tmp_path / "logs" / "services" / "broker.log"


def test_a_tree_that_is_its_own_already_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "data" / "orders-0").mkdir(parents=True)
    (tmp_path / "data" / "orders-0" / "0.log").touch()
    about = tmp_path.stat()
    ServiceUser(ME, about.st_uid, about.st_gid).give(tmp_path / "data")
    assert (tmp_path / "data" / "orders-0" / "0.log").stat().st_uid == about.st_uid


def test_a_log_that_is_a_link_or_no_file_is_not_read(tmp_path: Path) -> None:
    """Kafka's user may put anything where its log is; the agent, which reads it, may read more than that user."""
    (tmp_path / "secret").write_text("token")
    (tmp_path / "broker.log").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "pipe.log")
    for name in ("broker.log", "pipe.log"):
        with pytest.raises(OSError, match=name):
            open_plain(tmp_path / name)
    with open_plain(tmp_path / "secret") as file:
        assert file.read() == b"token"
