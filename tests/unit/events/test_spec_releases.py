"""Which versions of Kafka a spec may ask for: any patch release of a line that was rolled here."""

import pytest

from controlplane.kafka.features import metadata_level_of
from events.spec.releases import SUPPORTED
from events.spec.setting_table import settings_of
from tests.unit.events.spec_texts import load, told


def test_a_version_of_no_supported_line_is_refused_with_the_newest_that_was_rolled() -> None:
    result = load({7: "    version: 4.0.1"})
    assert told(result) == [
        (
            "7:14",
            "KEDGE-SPEC-040",
            "Kafka 4.0.1 is not supported; supported: 4.1.x, 4.2.x, 4.3.x",
            "Use 4.3.0.",
        ),
    ]
    assert not result.ok


def test_a_patch_release_that_was_never_rolled_here_is_taken_with_a_warning() -> None:
    """4.1.2, 4.2.1 and 4.3.1 were refused although 4.1.1, 4.2.0 and 4.3.0 had been rolled."""
    result = load({7: "    version: 4.2.1"})
    assert told(result) == [
        (
            "7:14",
            "KEDGE-SPEC-054",
            "Kafka 4.2.1 was never rolled by this release of Kedge; of line 4.2 it was 4.2.0",
            "Try it in a cluster whose data may be lost first, or use 4.2.0.",
        ),
    ]
    assert result.ok


@pytest.mark.parametrize("version", [*SUPPORTED])
def test_a_version_that_was_rolled_here_is_taken_without_a_word(version: str) -> None:
    assert told(load({7: f"    version: {version}"})) == []


@pytest.mark.parametrize("version", ["4.1.0", "4.1.2", "4.2.1", "4.3.10"])
def test_settings_and_levels_of_a_patch_release_are_those_of_its_line(version: str) -> None:
    rolled = next(v for v in SUPPORTED if v.rpartition(".")[0] == version.rpartition(".")[0])
    assert settings_of(version) == settings_of(rolled)
    assert metadata_level_of(version) == metadata_level_of(rolled) == SUPPORTED[rolled].level


def test_a_version_of_the_zookeeper_days_says_why_it_is_refused() -> None:
    result = load({7: "    version: 3.8.1"})
    assert told(result) == [
        (
            "7:14",
            "KEDGE-SPEC-040",
            (
                "Kafka 3.8.1 is not supported (versions below 4 need `mode: zookeeper`, with 3.8.x or "
                "3.9.x); supported: 4.1.x, 4.2.x, 4.3.x"
            ),
            "Use 4.3.0, or write `mode: zookeeper`; docs/zookeeper.md tells of migrating from there.",
        ),
    ]
    assert not result.ok
