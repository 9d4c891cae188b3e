"""Images are fetched whole or not at all; Maven is a stand-in here."""

import stat
from pathlib import Path

import pytest

from providers.errors import CloudUnavailable
from providers.local.image import ensure_image, ensure_mirror_maker

MAVEN = """#!/bin/sh
# Of MirrorMaker's closure a broker has all but one.
echo run >> "$FAKE_MAVEN_LOG"
for word in "$@"; do
  case "$word" in
    -DoutputDirectory=*) target="${word#*=}" ;;
    -Dkafka.version=*) version="${word#*=}" ;;
  esac
done
mkdir -p "$target" && echo jar > "$target/kafka_2.13-$version.jar"
case "$*" in *mirror_maker*) echo jar > "$target/connect-mirror-$version.jar" ;; esac
exit "${FAKE_MAVEN_EXIT:-0}"
"""


@pytest.fixture
def maven_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    program = tmp_path / "bin" / "mvn"
    program.parent.mkdir()
    program.write_text(MAVEN)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setenv("FAKE_MAVEN_LOG", str(tmp_path / "log"))
    return tmp_path / "log"


def runs(log: Path) -> int:
    return len(log.read_text().splitlines()) if log.exists() else 0


def test_an_image_is_fetched_once(tmp_path: Path, maven_log: Path) -> None:
    libs = ensure_image("4.1.1", tmp_path)
    assert libs == tmp_path / "kafka" / "4.1.1" / "libs"
    assert [path.name for path in libs.iterdir()] == ["kafka_2.13-4.1.1.jar"]
    assert ensure_image("4.1.1", tmp_path) == libs
    assert runs(maven_log) == 1


def test_an_image_that_lost_a_jar_is_fetched_again(tmp_path: Path, maven_log: Path) -> None:
    libs = ensure_image("4.1.1", tmp_path)
    next(libs.iterdir()).write_text("only half of it")
    assert next(ensure_image("4.1.1", tmp_path).iterdir()).read_text() == "jar\n"
    assert runs(maven_log) == 2


def test_jars_of_unknown_origin_are_checked_and_left_in_place_when_they_are_right(
    tmp_path: Path, maven_log: Path
) -> None:
    libs = tmp_path / "kafka" / "4.1.1" / "libs"
    libs.mkdir(parents=True)
    jar = libs / "kafka_2.13-4.1.1.jar"
    jar.write_text("jar\n")
    before = jar.stat().st_ino
    ensure_image("4.1.1", tmp_path)
    assert jar.stat().st_ino == before
    assert runs(maven_log) == 1


def test_a_fetch_that_failed_leaves_nothing_behind(
    tmp_path: Path, maven_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_MAVEN_EXIT", "1")
    with pytest.raises(CloudUnavailable, match=r"Kafka 4\.1\.1"):
        ensure_image("4.1.1", tmp_path)
    assert [path.name for path in (tmp_path / "kafka" / "4.1.1").iterdir()] == [".lock"]


def test_without_maven_the_message_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CloudUnavailable, match="Maven"):
        ensure_image("4.1.1", tmp_path)


def test_beside_a_brokers_jars_is_what_mirror_maker_has_more_and_fetched_once(tmp_path: Path, maven_log: Path) -> None:
    beside = ensure_mirror_maker("4.1.1", tmp_path)
    assert beside == tmp_path / "kafka" / "4.1.1" / "mirror-maker"
    assert [path.name for path in beside.iterdir()] == ["connect-mirror-4.1.1.jar"]
    assert [path.name for path in (beside.parent / "libs").iterdir()] == ["kafka_2.13-4.1.1.jar"]
    assert ensure_mirror_maker("4.1.1", tmp_path) == beside
    assert runs(maven_log) == 2


def test_mirror_maker_that_could_not_be_fetched_is_not_there(
    tmp_path: Path, maven_log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ensure_image("4.1.1", tmp_path)
    monkeypatch.setenv("FAKE_MAVEN_EXIT", "1")
    with pytest.raises(CloudUnavailable, match=r"Kafka 4\.1\.1"):
        ensure_mirror_maker("4.1.1", tmp_path)
    assert not (tmp_path / "kafka" / "4.1.1" / "mirror-maker").exists()
