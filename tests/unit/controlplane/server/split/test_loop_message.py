"""What a loop tells and a portal hears, through the rows of the latest values between them."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest

from controlplane.api.cloud_readiness import CloudUnknown, Examination
from controlplane.background.git_sync.binding import GitBinding
from controlplane.background.git_sync.status import REFUSED, SourceStatus, SourceStatuses
from controlplane.converger.steps.clouds.intents import job_id
from controlplane.converger.tick.beats import LoopWatch
from controlplane.converger.tick.report import TickReport
from controlplane.converger.tick.status import ServerLoop
from controlplane.server.settings import load_settings
from controlplane.server.split.config_parity import differing, files_alike
from controlplane.server.split.message import LOOP, NO_CLUSTER
from controlplane.server.split.publisher import SAID_ANEW, LoopTeller
from controlplane.server.split.subscriber import (
    SILENT_AFTER,
    AskedExaminations,
    LoopSubscriber,
    ReceivedLoop,
    ReceivedStatus,
    rings,
)
from events.spec.problems import Problem
from providers.finding import Finding
from tests.fakes.jobs import MemoryJobStore
from tests.unit.controlplane.api.portal_house import House, broker

BINDING = GitBinding(name="platform", repository="https://git.example.com/kafka.git")


@dataclass
class Examiner:
    """Looks at once when it is asked the second time."""

    asked: list[str] = field(default_factory=list)

    def results(self, cloud: str = "") -> Sequence[Examination]:
        self.asked.append(cloud)
        found = (Finding("aws", True, "well"),)
        return (Examination(cloud, asking=True) if len(self.asked) < 2 else Examination(cloud, findings=found),)


class Apart:
    """A loop and a portal that share nothing but a store and the latest values."""

    def __init__(self) -> None:
        self.loop = House()
        self.now = lambda: self.loop.now
        self.watch = LoopWatch(self.now)
        self.progress: dict[str, str] = {}
        self.rung: list[str] = []
        self.examiner = Examiner()
        self.statuses = SourceStatuses((BINDING,))
        self.files = {"policies/a.yaml": "1"}
        self.jobs = MemoryJobStore()
        self.teller = LoopTeller(
            loop=ServerLoop(
                server="alpha:1",
                interval_s=0.5,
                store=self.loop.store,
                jobs=self.jobs,
                ticked=self.loop.converger,
                watch=self.watch,
                timers={},
                progress=self.progress,
            ),
            fleet=self.loop.converger,
            latest=self.loop.latest,
            leadership=self.loop.lead,
            statuses=self.statuses,
            examinations=self.examiner,
            ring=lambda name: self.rung.append(name) is None,
            planner=lambda: "spark",
            files=lambda: self.files,
            ca_pem="pem",
            clock=self.now,
        )
        self.subscriber = LoopSubscriber(self.loop.latest, self.now)

    def beat(self, **later: float) -> None:
        """The loop beats and tells; the portal hears."""
        self.loop.pass_time(**later)
        with self.watch.beat(None) as beating:
            beating.ticked(TickReport(clusters=1))
        self.teller.poll()
        self.subscriber.poll()

    def tick(self) -> None:
        view = self.loop.view()
        self.loop.converger.tick_cluster(view.uid)


@pytest.fixture
def apart() -> Apart:
    return Apart()


def test_a_portal_knows_the_beats_and_the_planner_of_the_loop(apart: Apart) -> None:
    apart.beat()
    apart.beat(seconds=1)
    service = ReceivedLoop(apart.subscriber, apart.loop.store, apart.jobs).status()
    assert (service.server, service.interval_s, service.count) == ("alpha:1", 0.5, 2)
    assert [beat.at for beat in service.beats] == [apart.now(), apart.now() - timedelta(seconds=1)]
    assert (apart.subscriber.planner(), apart.subscriber.notice()) == ("spark", "")
    assert apart.subscriber.last_message is not None
    assert apart.subscriber.last_message.ca_pem == "pem"


def test_the_sentence_of_a_cluster_and_what_its_run_says_come_over(apart: Apart) -> None:
    apart.loop.apply()
    apart.tick()
    view = apart.loop.view()
    said = apart.loop.converger.said(view.uid)
    assert said is not None
    assert said.sentence
    apart.beat()
    assert apart.subscriber.said(view.uid) == said
    view = apart.loop.surge(broker())
    (intent,) = view.intents.values()
    assert apart.subscriber.progress(view) == ""
    apart.progress[job_id(intent)] = "creating brokers-a-0"
    apart.beat(seconds=1)
    assert apart.subscriber.progress(view) == "creating brokers-a-0"
    apart.loop.pass_time(minutes=1)
    assert apart.subscriber.progress(view) == "", "what a loop that is gone said of a run is not a progress"


def test_a_sentence_that_stays_the_same_is_written_every_ten_seconds_and_not_every_second(apart: Apart) -> None:
    apart.loop.apply()
    apart.tick()
    apart.beat()
    uid = apart.loop.view().uid
    first = apart.subscriber.said(uid)
    assert first is not None
    apart.loop.converger._said[uid] = replace(first, at=first.at + timedelta(seconds=5))
    apart.beat(seconds=1)
    assert apart.subscriber.said(uid) == first
    later = apart.loop.converger._said[uid] = replace(first, at=first.at + SAID_ANEW)
    apart.beat(seconds=1)
    assert apart.subscriber.said(uid) == later
    other = apart.loop.converger._said[uid] = replace(later, sentence="something else")
    apart.beat(seconds=1)
    assert apart.subscriber.said(uid) == other


def test_a_silent_loop_is_told_everywhere_and_heard_again(apart: Apart) -> None:
    apart.loop.apply()
    apart.tick()
    apart.beat()
    uid = apart.loop.view().uid
    was = apart.subscriber.said(uid)
    assert was is not None
    apart.loop.pass_time(seconds=SILENT_AFTER.total_seconds() + 1)
    apart.subscriber.poll()
    assert apart.subscriber.notice().startswith("the loop has not been seen since 2026-01-01 12:00:00 UTC")
    said = apart.subscriber.said(uid)
    assert said is not None
    assert (said.at, said.sentence) == (was.at, apart.subscriber.notice())
    apart.beat(seconds=1)
    assert apart.subscriber.notice() == ""
    assert apart.subscriber.said(uid) == was


def test_a_loop_that_leads_no_more_tells_nothing(apart: Apart) -> None:
    apart.beat()
    apart.loop.lead.epoch = None
    before = apart.loop.latest.of_kind(LOOP)
    apart.beat(seconds=1)
    assert apart.loop.latest.of_kind(LOOP) == before


def test_a_portal_that_never_heard_a_loop_says_so(apart: Apart) -> None:
    apart.subscriber.poll()
    assert "no loop has been heard on this database yet" in apart.subscriber.notice()
    assert apart.subscriber.planner() == "unknown"
    assert ReceivedLoop(apart.subscriber, apart.loop.store, apart.jobs).status().beats == ()


def test_an_old_word_found_at_the_start_of_a_portal_is_no_sign_of_life(apart: Apart) -> None:
    apart.beat()
    apart.loop.pass_time(minutes=5)
    fresh = LoopSubscriber(apart.loop.latest, apart.now)
    fresh.poll()
    assert "since 2026-01-01 12:00:00 UTC" in fresh.notice()


def test_the_clocks_of_two_hosts_may_differ(apart: Apart) -> None:
    """The loop's clock is an hour behind: its words are another one each time, so it lives."""
    behind = lambda: apart.loop.now + timedelta(hours=1)  # noqa: E731
    subscriber = LoopSubscriber(apart.loop.latest, behind)
    apart.beat()
    subscriber.poll()
    apart.beat(seconds=1)
    subscriber.poll()
    assert subscriber.notice() == ""


def test_a_word_of_another_release_is_left_alone(apart: Apart) -> None:
    apart.beat()
    (row,) = apart.loop.latest.of_kind(LOOP)
    apart.loop.latest.put(replace(row, value={"server": "x"}, observed_at=row.observed_at + timedelta(seconds=1)))
    apart.subscriber.poll()
    assert apart.subscriber.last_message is not None
    assert apart.subscriber.last_message.server == "alpha:1"


def test_a_source_is_told_with_its_problems_and_looked_at_when_a_portal_asks(apart: Apart) -> None:
    broken = Problem("orders.yaml", 3, 1, "KEDGE-SPEC-001", "no such field", "take it out", "spec.x")
    apart.statuses.put(
        SourceStatus(BINDING, state=REFUSED, reason="SpecRefused", problems=(broken,), tip="ab12"), now=apart.now()
    )
    apart.beat()
    statuses = ReceivedStatus((BINDING,), apart.subscriber)
    (found,) = statuses.all()
    assert found == apart.statuses.of("platform") == statuses.of_source("git:platform")
    assert rings(apart.subscriber)("platform")
    apart.beat(seconds=1)
    apart.beat(seconds=1)
    assert apart.rung == ["platform"], "once"
    apart.loop.pass_time(seconds=1)
    rings(apart.subscriber)("platform")
    apart.beat(seconds=1)
    assert apart.rung == ["platform"] * 2


def test_what_was_asked_long_before_a_loop_began_is_not_done_then(apart: Apart) -> None:
    apart.subscriber.ask("source platform")
    apart.beat(minutes=2)
    assert apart.rung == []
    assert [row.subject.cluster_uid for row in apart.loop.latest.of_kind("portal-asked")] == [NO_CLUSTER]


def test_clouds_are_examined_by_the_loop_and_told_by_the_portal(apart: Apart) -> None:
    asked = AskedExaminations(apart.subscriber, apart.loop.latest, apart.now)
    (silent,) = asked.results("aws")
    assert [(f.what, f.well) for f in silent.findings] == [("the loop", None)]
    apart.beat()
    assert asked.results("aws") == (Examination("aws", asking=True),)
    apart.beat(seconds=1)
    assert asked.results("aws")[0].asking
    apart.beat(seconds=1)
    (found,) = asked.results("aws")
    assert (found.asking, [f.told for f in found.findings]) == (False, ["well"])
    apart.beat(seconds=1)
    assert apart.examiner.asked == ["aws", "aws"], "not again before somebody asks"
    with pytest.raises(CloudUnknown):
        asked.results("nimbus")


def test_what_differs_between_two_homes_is_named() -> None:
    assert differing({"a": "1", "b": "2"}, {"a": "1", "b": "3", "c": "4"}) == ["b", "c"]
    assert differing({"a": "1"}, {"a": "1"}) == []


def test_homes_are_compared_by_their_files_and_by_the_settings_both_go_by(tmp_path: Path) -> None:
    mine, theirs = tmp_path / "portal", tmp_path / "loop"
    for home in (mine, theirs):
        (home / "policies").mkdir(parents=True)
        (home / "policies" / "a.yaml").write_text("policies: []\n")
        (home / "aws.yaml").write_text("accounts: {}\n")
        (home / "token").write_text(home.name)
    assert differing(files_alike(load_settings(home=mine)), files_alike(load_settings(home=theirs))) == []
    (mine / "policies" / "a.yaml").write_text("policies: [one]\n")
    (theirs / "catalog.yaml").write_text("x: 1\n")
    others = files_alike(load_settings(home=theirs, max_rolling=3))
    wanted = ["catalog.yaml", "policies/a.yaml", "setting max_rolling"]
    assert differing(files_alike(load_settings(home=mine)), others) == wanted
