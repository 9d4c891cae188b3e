"""A server's examinations of clouds: asked once for many callers, kept for a while, told with what failed."""

import os
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from controlplane.api.cloud_readiness import KEPT_FOR, CloudUnknown
from controlplane.server.cloud_readiness import Examiner, examiner_of
from controlplane.server.clouds import Clouds
from controlplane.server.settings import Settings
from providers.finding import Finding
from tests.unit.controlplane.api.portal_house import House

START = datetime(2026, 1, 2, tzinfo=UTC)
WELL = Finding("aws: settings", True, "fine")


class Scene:
    """An examiner whose looks begin when the test says so."""

    def __init__(self, *in_use: str) -> None:
        self.now = START
        self.asked: list[str] = []
        self.begun: list[Callable[[], None]] = []
        self.fault: Exception | None = None
        self.examiner = Examiner(lambda: in_use, self._look, lambda: self.now, self.begun.append)

    def _look(self, cloud: str) -> Iterator[Finding]:
        self.asked.append(cloud)
        yield WELL
        if self.fault:
            raise self.fault

    def go_on(self) -> None:
        """What was begun ends."""
        begun, self.begun[:] = list(self.begun), []
        for look in begun:
            look()


def test_the_first_call_is_answered_at_once_and_the_next_one_has_the_findings() -> None:
    scene = Scene()
    (first,) = scene.examiner.results("aws")
    assert (first.asking, first.ended_at, first.findings) == (True, None, ())
    scene.now += timedelta(seconds=7)
    scene.go_on()
    (told,) = scene.examiner.results("aws")
    assert (told.asking, told.findings) == (False, (WELL,))
    assert (told.began_at, told.ended_at) == (scene.now, scene.now)


def test_many_callers_ask_a_cloud_once_until_it_was_long_ago() -> None:
    scene = Scene("aws", "hetzner")
    for _ in range(5):
        scene.examiner.results()
    scene.go_on()
    for _ in range(5):
        scene.examiner.results("aws")
        scene.examiner.results()
    scene.go_on()
    assert scene.asked == ["aws", "hetzner"]
    scene.now += KEPT_FOR
    (told,) = scene.examiner.results("aws")
    assert (told.asking, told.findings) == (True, (WELL,)), "what is known is told while it is asked anew"
    scene.go_on()
    assert scene.asked == ["aws", "hetzner", "aws"]


def test_a_look_that_fails_is_told_and_made_again_later() -> None:
    scene = Scene()
    scene.fault = RuntimeError("no such region")
    scene.examiner.results("aws")
    scene.go_on()
    (told,) = scene.examiner.results("aws")
    (finding,) = told.findings
    assert (finding.well, told.asking) == (None, False)
    assert "RuntimeError: no such region" in finding.told
    scene.fault, scene.now = None, scene.now + KEPT_FOR
    scene.examiner.results("aws")
    scene.go_on()
    assert scene.examiner.results("aws")[0].findings == (WELL,)


def test_a_cloud_that_nobody_implements_is_refused_and_nothing_is_asked() -> None:
    scene = Scene()
    with pytest.raises(CloudUnknown, match="there is no cloud 'mars'; there is aws"):
        scene.examiner.results("mars")
    assert not scene.begun


def test_a_server_tells_of_clouds_it_has_settings_of_and_of_those_of_its_clusters(tmp_path: Path) -> None:
    (tmp_path / "hetzner.yaml").write_text("accounts: 7")
    settings, begun = Settings(home=tmp_path), list[Callable[[], None]]()
    house = House()
    house.apply()
    examiner = examiner_of(settings, Clouds(settings, "inst"), house.converger.views, begun.append)
    assert [one.cloud for one in examiner.results()] == ["hetzner", "local"]
    for look in begun:
        look()
    hetzner, local = examiner.results()
    assert [f.well for f in hetzner.findings] == [False]
    assert "hetzner.yaml" in hetzner.findings[0].told
    assert [(f.well, f.told) for f in local.findings] == [(True, "local needs no account")]


def test_settings_that_were_written_after_the_start_are_told_first(tmp_path: Path) -> None:
    settings, begun = Settings(home=tmp_path), list[Callable[[], None]]()
    examiner = examiner_of(settings, Clouds(settings, "inst"), list, begun.append)
    file = tmp_path / "hetzner.yaml"
    file.write_text("accounts: 7")
    os.utime(file, (later := time.time() + 60, later))
    examiner.results("hetzner")
    begun.pop()()
    first, *_ = examiner.results("hetzner")[0].findings
    assert (first.what, first.well) == ("settings of this server", None)
    assert "start the server anew" in first.what_next
