"""The table of feature levels is what each release says of itself (`StorageTool version-mapping`)."""

import re
import shutil
import subprocess
from functools import cache

import pytest

from controlplane.kafka.features import METADATA, metadata_level_of, release_levels
from events.spec.releases import SUPPORTED, as_numbers, levels, metadata_level_of as release_of
from tests.kafka_processes import JARS

pytestmark = [pytest.mark.kafka, pytest.mark.soak, pytest.mark.timeout(300)]

KNOWN = [(v, r) for v in SUPPORTED for r in levels("kraft") if as_numbers(r) <= as_numbers(release_of(v))]


@pytest.mark.parametrize(("version", "release"), KNOWN)
def test_a_release_has_the_levels_of_the_table(version: str, release: str) -> None:
    """Of every release that may be pinned, by each version that may run with it."""
    told = _mapping(version, release)
    assert told.pop(METADATA) == metadata_level_of(release)
    assert told == release_levels(metadata_level_of(release))


@pytest.mark.parametrize("version", SUPPORTED)
def test_a_version_takes_no_level_of_a_later_one(version: str) -> None:
    later = [r for r in levels("kraft") if as_numbers(r) > as_numbers(release_of(version))]
    assert all("Unknown" in _asked(version, release) for release in later[:1])


def _mapping(version: str, release: str) -> dict[str, int]:
    found = re.findall(r"^([a-z.]+\.version)=(\d+)", _asked(version, release), re.MULTILINE)
    assert found, _asked(version, release)
    return {name: int(level) for name, level in found}


@cache
def _asked(version: str, release: str) -> str:
    java = shutil.which("java") or "java"
    tool = ("kafka.tools.StorageTool", "version-mapping", "-r", release)
    command = (java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", f"{JARS / version / 'libs'}/*", *tool)
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout + done.stderr
