"""What the demo does in each mode, chapter by chapter, with a story that only writes down what it is asked."""

from io import StringIO
from pathlib import Path
from typing import get_args

import pytest
from rich.console import Console

from controlplane.api.schemas import specs as spec_api
from controlplane.cli.demo.chapters import LOSS_GRACE_S, TALES, Tale, shorter
from controlplane.cli.demo.house import DemoFailed, House
from controlplane.cli.demo.story import DemoStory, read_spec
from controlplane.cli.demo.traffic import DemoTraffic
from controlplane.converger.situation.situation import LOSS_GRACE_S as DEFAULT_GRACE_S
from events.spec.document import load_documents
from events.spec.model import MetadataMode

ROOT = Path(__file__).parents[4]


class QuietTraffic(DemoTraffic):
    """Clients that write nothing, and tell that they were asked to."""

    def __init__(self, did: list[str]) -> None:
        super().__init__(list, topic="orders")
        self._did = did
        self.filled_mib: list[int] = []

    def begin(self, fill_mib: int) -> int:
        self.filled_mib.append(fill_mib)
        self._did.append("traffic begins")
        return fill_mib

    def add_topic(self, name: str, fill_mib: int) -> int:
        self._did.append(f"topic {name}")
        self.filled_mib.append(fill_mib)
        return fill_mib


class WrittenDown(DemoStory):
    """Does nothing, and has a list of what it would have done; what it declares has to be a valid spec."""

    def __init__(self, mode: MetadataMode, home: Path) -> None:
        tale = TALES[mode]
        console = Console(file=StringIO(), width=200)
        house = House(home, home, tale.settings)
        super().__init__(house, console, spec=read_spec(ROOT / tale.spec), file=str(tale.spec), animated=False)
        self.did: list[str] = []
        self.traffic = QuietTraffic(self.did)
        self.home = home

    def open(self) -> Path:
        self.did.append("server")
        return self.home

    def apply(self) -> spec_api.AppliedOut:
        loaded = load_documents(self._spec.encode(), file=self._file)
        assert loaded.problems == ()
        (document,) = loaded.documents
        brokers = next(p.size for p in document.spec.pools if p.name == "brokers")
        self.did.append(f"{document.spec.kafka.mode} {document.spec.kafka.version}, {brokers} brokers")
        generation = sum(" brokers" in d for d in self.did)
        return spec_api.AppliedOut(
            cluster=self.name, uid="u", generation=generation, changed=True, created=generation == 1
        )

    def wait_for_balance(self) -> None:
        self.did.append("balanced")

    def wait_for_spark(self) -> None:
        self.did.append("spark")

    def kill_vm_of(self, service: str) -> None:
        self.did.append(f"a VM of {service} killed")

    def audit(self) -> None:
        self.did.append("audit")


def _told(mode: MetadataMode, home: Path, tale: Tale | None = None) -> WrittenDown:
    story = WrittenDown(mode, home)
    for chapter in (tale or TALES[mode]).chapters:
        chapter.act(story)
    return story


@pytest.mark.parametrize(
    ("mode", "did"),
    [
        (
            "kraft",
            [
                *("server", "kraft 4.1.1, 3 brokers", "traffic begins", "spark", "kraft 4.2.0, 3 brokers"),
                *("kraft 4.2.0, 6 brokers", "balanced", "topic payments", "kraft 4.2.0, 3 brokers", "audit"),
            ],
        ),
        (
            "zookeeper",
            [
                *("server", "zookeeper 3.8.1, 3 brokers", "traffic begins", "spark", "zookeeper 3.9.1, 3 brokers"),
                *("a VM of zookeeper killed", "zookeeper 3.9.1, 6 brokers", "balanced", "topic payments"),
                *("zookeeper 3.9.1, 3 brokers", "audit"),
            ],
        ),
    ],
)
def test_the_demo_declares_fills_rolls_scales_and_audits(mode: MetadataMode, did: list[str], tmp_path: Path) -> None:
    assert _told(mode, tmp_path).did == did


@pytest.mark.parametrize("mode", get_args(MetadataMode))
def test_a_short_demo_does_the_same_with_less_data(mode: MetadataMode, tmp_path: Path) -> None:
    whole, short = _told(mode, tmp_path), _told(mode, tmp_path, shorter(TALES[mode]))
    assert short.did == whole.did
    assert sum(short.traffic.filled_mib) * 4 < sum(whole.traffic.filled_mib)
    assert [c.title for c in shorter(TALES[mode]).chapters] == [c.title for c in TALES[mode].chapters]


@pytest.mark.parametrize("mode", get_args(MetadataMode))
def test_the_roll_that_is_measured_is_the_version_roll(mode: MetadataMode, tmp_path: Path) -> None:
    assert _told(mode, tmp_path).rolled == 2


@pytest.mark.parametrize("mode", get_args(MetadataMode))
def test_every_chapter_has_a_title_of_its_own_and_lines_that_fit(mode: MetadataMode) -> None:
    chapters = TALES[mode].chapters
    assert len({c.title for c in chapters}) == len(chapters)
    assert all(len(line) <= 125 for c in chapters for line in c.lines)


def test_a_change_that_does_not_fit_the_spec_stops_the_demo(tmp_path: Path) -> None:
    with pytest.raises(DemoFailed, match="found it 0 times"):
        WrittenDown("kraft", tmp_path).change("version: 9.9.9", "version: 9.9.10")


def test_the_audit_is_told_only_after_it_was_made(tmp_path: Path) -> None:
    with pytest.raises(DemoFailed, match="no audit"):
        _ = WrittenDown("zookeeper", tmp_path).heard


def test_the_server_of_the_demo_replaces_a_lost_vm_as_soon_as_the_story_says() -> None:
    lines = " ".join(line for c in TALES["zookeeper"].chapters for line in c.lines)
    assert TALES["zookeeper"].settings == {"KEDGE_LOOP__LOSS_GRACE_S": str(LOSS_GRACE_S)}
    assert f"After {LOSS_GRACE_S} s ({DEFAULT_GRACE_S / 60:g} minutes by default)" in lines
    assert TALES["kraft"].settings == {}
