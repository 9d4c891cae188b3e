"""`kedge import`: what it asks, whose spec it prints, and what it refuses before anybody is dialled."""

import socket
from pathlib import Path

import pytest

from controlplane.cli.client_config import bootstrap_in
from controlplane.cli.errors import CliError
from controlplane.cli.verbs.imports import _refuse_silence
from tests.unit.controlplane.cli.cli_world import World


def test_a_client_file_is_read_for_its_brokers(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("# ours\nbootstrap.servers = a:9092,b:9092\nsecurity.protocol=PLAINTEXT\nclient.id=x\n")
    assert bootstrap_in(file) == "a:9092,b:9092"


@pytest.mark.parametrize("line", ["security.protocol=SASL_SSL", "sasl.mechanism=PLAIN", "ssl.keystore.location=/k"])
def test_a_client_file_that_asks_for_more_is_refused_not_ignored(line: str, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(f"bootstrap.servers=a:9092\n{line}\n")
    with pytest.raises(CliError, match=line.partition("=")[0]):
        bootstrap_in(file)


def test_a_broker_has_to_be_named(world: World) -> None:
    ended = world.run("import")
    assert ended.exit_code == 1
    assert "kedge import --bootstrap HOST:PORT" in ended.stderr


def test_a_cluster_that_does_not_answer_is_told_to_a_person_who_knows_no_ticks(world: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    result = world.run("import", "--bootstrap", address)
    assert result.exit_code == 1
    assert "error: the cluster could not be read" in result.stderr
    assert f"where: {address}" in result.stderr
    assert "tick" not in result.stderr
    assert "Nothing was changed" in result.stderr


def test_where_nobody_listens_that_is_told_at_once(world: World) -> None:
    """By Kafka's client it would take 6 s, and other words."""
    silent = [unused_address(), unused_address()]
    ended = world.run("import", "--bootstrap", ",".join(silent))
    assert ended.exit_code == 1
    assert f"nothing listens at {', '.join(silent)}" in ended.stderr


def test_what_does_not_refuse_is_left_to_kafkas_client() -> None:
    with socket.create_server(("127.0.0.1", 0)) as somebody:
        _refuse_silence((unused_address(), f"127.0.0.1:{somebody.getsockname()[1]}"))
    for unreadable in ("no-port", "[::1]:x", "nowhere.invalid:9092"):
        _refuse_silence((unused_address(), unreadable))


def test_client_properties_that_others_can_read_are_refused_before_anybody_is_dialled(
    world: World, tmp_path: Path
) -> None:
    file = tmp_path / "orders.properties"
    file.write_text("security.protocol=sasl_ssl\nsasl.password=pa55word-of-a-test\n")
    file.chmod(0o644)
    ended = world.run("import", "--bootstrap", unused_address(), "--client-properties", str(file))
    assert ended.exit_code == 1
    assert "the file can be read by others: chmod 600 it" in ended.stderr
    file.chmod(0o600)
    ended = world.run("import", "--bootstrap", unused_address(), "--client-properties", str(file))
    assert "`sasl.mechanism` has to be one of" in ended.stderr
    assert "pa55word" not in ended.stderr + ended.stdout


def test_client_properties_name_the_brokers_too(world: World, tmp_path: Path) -> None:
    file, nobody = tmp_path / "orders.properties", unused_address()
    file.write_text(f"security.protocol=ssl\nbootstrap.servers={nobody}\n")
    file.chmod(0o600)
    ended = world.run("import", "--client-properties", str(file))
    assert f"nothing listens at {nobody}" in ended.stderr
    ended = world.run("import", "--client-properties", str(file), "--client-config", str(file))
    assert "--client-config is for plaintext" in ended.stderr


def unused_address() -> str:
    """Where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"127.0.0.1:{free.getsockname()[1]}"
