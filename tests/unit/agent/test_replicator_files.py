"""The replicator's edges on a disk: its files, its command line, its marks and its log; a script stands in for Java."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent.layout import AgentLayout
from agent.process import ServiceProcess
from agent.replicator.flow import flow_of, wrong_flow
from agent.replicator.mirror_maker_process import MirrorMakerProcess
from agent.services.launch import MIRROR_MAKER_DIR, KafkaInstallation
from agent.services.mirror_maker import mirror_properties
from agent.settings import AgentSettings
from providers.local import image
from tests.unit.agent.replicator_vm import wanted
from tests.waiting import until

COPIES = (
    "[2026-11-28 10:00:00,000] INFO [MirrorSourceConnector|task-0] task-thread-MirrorSourceConnector-0 replicating 3"
    " topic-partitions eu->us: [orders-0, orders-1, orders-2]. (org.apache.kafka.connect.mirror.MirrorSourceTask)\n"
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A VM whose `java` waits."""
    java = tmp_path / "java"
    java.write_text('#!/usr/bin/env python3\nimport signal\nprint("up", flush=True)\nsignal.pause()\n')
    java.chmod(0o755)
    return tmp_path


def of(home: Path) -> MirrorMakerProcess:
    layout = AgentLayout(home / "root")
    layout.prepare()
    return MirrorMakerProcess(
        layout, AgentSettings(root=layout.root, kafka_dir=home / "kafka", java=str(home / "java"))
    )


def jars(home: Path, *names: str) -> None:
    for name in names:
        path = home / "kafka" / "4.2.0" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def test_apaches_own_archive_has_it_among_kafkas_jars(home: Path) -> None:
    jars(home, "libs/kafka_2.13-4.2.0.jar", "libs/connect-mirror-4.2.0.jar", "mirror-maker/connect-mirror-4.2.0.jar")
    installation = KafkaInstallation(home / "kafka", "java")
    assert installation.mirror_maker("4.2.0") == (home / "kafka/4.2.0/libs",)


def test_on_the_local_cloud_its_jars_are_beside_kafkas(home: Path) -> None:
    jars(
        home,
        "libs/kafka_2.13-4.2.0.jar",
        "libs/connect-mirror-client-4.2.0.jar",
        "mirror-maker/connect-mirror-4.2.0.jar",
    )
    command = KafkaInstallation(home / "kafka", "java").mirror_maker_command(
        "4.2.0", heap_mib=300, properties=Path("/etc/r/mirror-maker.properties"), marks=("-Dmark",)
    )
    assert command[command.index("-cp") + 1] == f"{home}/kafka/4.2.0/libs/*:{home}/kafka/4.2.0/mirror-maker/*"
    assert command[-2:] == ("org.apache.kafka.connect.mirror.MirrorMaker", "/etc/r/mirror-maker.properties")
    assert {"-Xmx300m", "-XX:+ExitOnOutOfMemoryError", "-Dmark"} < set(command)
    assert "-Dlog4j2.configurationFile=file:/etc/r/log4j2.properties" in command


def test_the_local_clouds_images_have_it_where_agents_look() -> None:
    assert image._MIRROR_MAKER == MIRROR_MAKER_DIR


@pytest.mark.parametrize(
    "there",
    [
        (),
        ("libs/kafka_2.13-4.2.0.jar",),
        ("libs/kafka_2.13-4.2.0.jar", "libs/connect-mirror-client-4.2.0.jar"),
        ("mirror-maker/connect-mirror-4.2.0.jar",),
    ],
)
def test_g_what_is_missing_is_named_and_what_to_do(home: Path, there: tuple[str, ...]) -> None:
    jars(home, *there)
    refused = of(home).refused(wanted())
    assert f"no connect-mirror-*.jar in {home}/kafka/4.2.0/libs or {home}/kafka/4.2.0/mirror-maker" in refused
    assert "python -m providers.local image 4.2.0 --mirror-maker" in refused


@pytest.mark.parametrize(
    "wrong",
    [
        {"kafka_version": "../4.2.0"},
        {"topics": ()},
        {"topics": ("a|b",)},
        {"not_groups": ("a,b",)},
        {"source": wanted().source.model_copy(update={"bootstrap": ("10.0.0.1",)})},
        {"source": wanted().source.model_copy(update={"bootstrap": ()})},
        {"source": wanted().target},
        {"target": wanted().target.model_copy(update={"name": "u s"})},
    ],
)
def test_a_flow_that_mirror_maker_would_take_for_something_else_is_refused(
    home: Path, wrong: dict[str, object]
) -> None:
    jars(home, "libs/kafka_2.13-4.2.0.jar", "libs/connect-mirror-4.2.0.jar")
    assert of(home).refused(wanted()) == ""
    document = wanted().model_copy(update=wrong)
    assert of(home).refused(document) == wrong_flow(document) != ""


@contextmanager
def started(process: MirrorMakerProcess, output: Path) -> Iterator[ServiceProcess]:
    one = process.start(wanted())
    try:
        # `env` has become Python by then: while a process becomes another one its arguments are nobody's.
        until(lambda: output.read_text() or None, "its first word", timeout_s=60, every_s=0.01)
        yield one
    finally:
        one.kill()
        until(lambda: not one.is_alive() or None, "its end", timeout_s=30, every_s=0.01)


def test_it_starts_on_a_file_of_its_user_alone_and_is_found_by_its_marks(home: Path) -> None:
    jars(home, "libs/kafka_2.13-4.2.0.jar", "libs/connect-mirror-4.2.0.jar")
    process, root = of(home), home / "root"
    assert process.find() is None
    with started(process, root / "logs/replicator.out") as one:
        file = root / "agent/services/replicator/mirror-maker.properties"
        assert "eu->us.topics=orders\n" in file.read_text()
        assert "us.bootstrap.servers=10.1.0.1:9092,[fd00::1]:9092\n" in file.read_text()
        assert file.stat().st_mode & 0o777 == 0o600
        logging = (file.parent / "log4j2.properties").read_text()
        assert f"appender.file.fileName={root}/logs/replicator.log\n" in logging
        assert (
            "appender.file.policies.size.size=20971520\nappender.file.strategy.type=DefaultRolloverStrategy\n"
            in logging
        )
        arguments = Path(f"/proc/{one.pid}/cmdline").read_text().split("\0")
        assert {f"-Dkedge.service={root}/replicator", "-Dkedge.start=r-1"} < set(arguments)
        found = of(home).find()
        assert found is not None
        assert (found.pid, found.start_id) == (one.pid, "r-1")
        (root / "agent/services/replicator/pid.json").unlink()
        assert (found := of(home).find()) is not None, "an agent that died before it wrote where it is"
        assert found.pid == one.pid
    until(lambda: of(home).find() is None or None, "it to be found nowhere", timeout_s=30, every_s=0.01)


def test_the_properties_are_those_of_the_flow(home: Path) -> None:
    text = mirror_properties(flow_of(wanted(not_groups=("tmp-.*",), replication_factor=2)))
    assert "eu->us.groups.exclude=console-consumer-.*,__.*,tmp-.*\n" in text
    assert "offset-syncs.topic.replication.factor=2\n" in text


def test_only_lines_of_this_start_say_that_it_copies(home: Path) -> None:
    process, log = of(home), home / "root/logs/replicator.log"
    assert process.copies(process.log_end()) == (False, None)
    log.write_text(COPIES)
    since = process.log_end()
    found, since = process.copies(since)
    assert not found, "that was the start before"
    with log.open("a") as file:
        file.write("[2026-11-28 10:00:01,000] INFO Kafka MirrorMaker started (org.apache.kafka)\n")
    found, since = process.copies(since)
    assert not found
    log.rename(log.with_name("replicator.log.1"))
    with log.with_name("replicator.log.1").open("a") as file:
        file.write(COPIES)
    log.write_text("[2026-11-28 10:00:02,000] INFO after a roll (org.apache.kafka)\n")
    assert process.copies(since)[0]


def test_a_long_log_is_read_to_its_end(home: Path) -> None:
    process, log = of(home), home / "root/logs/replicator.log"
    log.write_text("")
    since = process.log_end()
    line = "[2026-11-28 10:00:01,000] INFO a value (org.apache.kafka.connect.runtime.WorkerConfig)\n"
    log.write_text(line * 30_000 + COPIES)
    assert process.copies(since)[0]


def test_e_its_last_words_are_what_it_tells_as_an_error(home: Path) -> None:
    process, logs = of(home), home / "root/logs"
    begins = "[2026-11-28 10:00:00,000] INFO Kafka MirrorMaker initializing ... (org.apache.kafka.connect)\n"
    calm = begins + "[2026-11-28 10:00:01,000] INFO MirrorMakerConfig values: \n\terrors.tolerance = none\n (a.B)\n"
    logs.joinpath("replicator.log").write_text(calm)
    logs.joinpath("replicator.out").write_text("")
    assert process.exit_reason().words == "", "it was killed"
    before = "[2026-11-28 09:00:00,000] ERROR what was before (a.B)\n"
    fails = "[2026-11-28 10:00:02,000] ERROR Stopping due to error (a.B)\njava.lang.IllegalStateException: no source\n"
    logs.joinpath("replicator.log").write_text(before + calm + fails)
    assert process.exit_reason().words == "java.lang.IllegalStateException: no source"
    logs.joinpath("replicator.log").write_text(calm)
    logs.joinpath("replicator.out").write_text("Terminating due to java.lang.OutOfMemoryError: Java heap space\n")
    assert process.exit_reason().words == "Terminating due to java.lang.OutOfMemoryError: Java heap space"
