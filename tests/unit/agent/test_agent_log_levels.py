"""Levels of loggers: written when they change, not at each pass, and anew by an agent that did not write them."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from agent.layout import AgentLayout
from agent.services.java import JavaService
from agent.settings import AgentSettings
from tests.unit.agent.wanted import broker


@pytest.fixture
def service(tmp_path: Path) -> JavaService:
    return a_service(tmp_path)


def a_service(root: Path) -> JavaService:
    layout = AgentLayout(root)
    layout.prepare()
    return JavaService("broker", layout=layout, settings=AgentSettings(root=root, kafka_dir=Path("/kafka")))


def follow(service: JavaService, levels: Mapping[str, str]) -> None:
    service.follow(broker(log_levels=dict(levels)))


def test_a_change_is_written_and_the_same_again_is_not(service: JavaService, tmp_path: Path) -> None:
    file = AgentLayout(tmp_path).service_dir("broker") / "log4j2.properties"
    follow(service, {})
    assert "rootLogger.level=INFO" in file.read_text()
    follow(service, {"kafka.log": "DEBUG"})
    assert "logger.0.name=kafka.log\nlogger.0.level=DEBUG\n" in file.read_text()
    file.unlink()
    follow(service, {"kafka.log": "DEBUG"})
    assert not file.exists()
    follow(service, {})
    assert "logger.0" not in file.read_text()


def test_an_agent_that_finds_a_process_running_writes_them_once(service: JavaService, tmp_path: Path) -> None:
    file = AgentLayout(tmp_path).service_dir("broker") / "log4j2.properties"
    follow(service, {"root": "DEBUG"})
    follow(a_service(tmp_path), {})
    assert "rootLogger.level=INFO" in file.read_text()
