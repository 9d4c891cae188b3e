"""What the demo does in each mode, chapter by chapter, with a story that only writes down what it is asked."""

from io import StringIO
from pathlib import Path
from typing import get_args

import pytest
from rich.console import Console

from controlplane.api.schemas import specs as spec_api
from controlplane.cli.demo.chapters import LOSS_GRACE_S, TALES, DemoKind, Tale, shorter
from controlplane.cli.demo.house import DemoFailed, House
from controlplane.cli.demo.story import DemoStory, read_spec
from controlplane.cli.demo.traffic import DemoTraffic
from controlplane.converger.situation.situation import LOSS_GRACE_S as DEFAULT_GRACE_S
from events.spec.document import load_documents

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

    def __init__(self, kind: DemoKind, home: Path) -> None:
        tale = TALES[kind]
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

    def declare_users(self, file: Path) -> None:
        loaded = load_documents((ROOT / file).read_bytes(), file=str(file))
        assert loaded.problems == ()
        assert {user.spec.cluster for user in loaded.users} == {self.name}
        self.did.append(f"users {', '.join(user.metadata.name for user in loaded.users)}")

    def show_refusals(self, topic: str) -> None:
        self.did.append(f"refusals of {topic}")

    def wait_for_balance(self) -> None:
        self.did.append("balanced")

    def wait_for_spark(self) -> None:
        self.did.append("spark")

    def kill_vm_of(self, service: str) -> None:
        self.did.append(f"a VM of {service} killed")

    def audit(self) -> None:
        self.did.append("audit")


def _told(kind: DemoKind, home: Path, tale: Tale | None = None) -> WrittenDown:
    story = WrittenDown(kind, home)
    for chapter in (tale or TALES[kind]).chapters:
        chapter.act(story)
    return story


@pytest.mark.parametrize(
    ("kind", "did"),
    [
        (
            "secured",
            [
                *("server", "kraft 4.1.1, 3 brokers", "users orders-writer, orders-reader, orders-auditor"),
                *("traffic begins", "spark", "refusals of orders", "kraft 4.2.0, 3 brokers"),
                *("kraft 4.2.0, 6 brokers", "balanced", "topic payments", "kraft 4.2.0, 3 brokers", "audit"),
            ],
        ),
        (
            "plaintext",
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
def test_the_demo_declares_fills_rolls_scales_and_audits(kind: DemoKind, did: list[str], tmp_path: Path) -> None:
    assert _told(kind, tmp_path).did == did


@pytest.mark.parametrize("kind", get_args(DemoKind))
def test_a_short_demo_does_the_same_with_less_data(kind: DemoKind, tmp_path: Path) -> None:
    whole, short = _told(kind, tmp_path), _told(kind, tmp_path, shorter(TALES[kind]))
    assert short.did == whole.did
    assert sum(short.traffic.filled_mib) * 4 < sum(whole.traffic.filled_mib)
    assert [c.title for c in shorter(TALES[kind]).chapters] == [c.title for c in TALES[kind].chapters]


@pytest.mark.parametrize("kind", get_args(DemoKind))
def test_the_roll_that_is_measured_is_the_version_roll(kind: DemoKind, tmp_path: Path) -> None:
    assert _told(kind, tmp_path).rolled == 2


@pytest.mark.parametrize("kind", get_args(DemoKind))
def test_every_chapter_has_a_title_of_its_own_and_lines_that_fit(kind: DemoKind) -> None:
    chapters = TALES[kind].chapters
    assert len({c.title for c in chapters}) == len(chapters)
    assert all(len(line) <= 125 for c in chapters for line in c.lines)


def test_a_change_that_does_not_fit_the_spec_stops_the_demo(tmp_path: Path) -> None:
    with pytest.raises(DemoFailed, match="found it 0 times"):
        WrittenDown("plaintext", tmp_path).change("version: 9.9.9", "version: 9.9.10")


def test_the_audit_is_told_only_after_it_was_made(tmp_path: Path) -> None:
    with pytest.raises(DemoFailed, match="no audit"):
        _ = WrittenDown("zookeeper", tmp_path).heard


def test_the_server_of_the_demo_replaces_a_lost_vm_as_soon_as_the_story_says() -> None:
    lines = " ".join(line for c in TALES["zookeeper"].chapters for line in c.lines)
    assert TALES["zookeeper"].settings == {"KEDGE_LOOP__LOSS_GRACE_S": str(LOSS_GRACE_S)}
    assert f"After {LOSS_GRACE_S} s ({DEFAULT_GRACE_S / 60:g} minutes by default)" in lines
    assert TALES["plaintext"].settings == {}


def test_the_secured_demo_is_of_a_cluster_that_lets_nobody_in_who_has_no_document() -> None:
    (document,) = load_documents((ROOT / TALES["secured"].spec).read_bytes(), file="secured.yaml").documents
    assert document.spec.security.internal == "tls"
    assert [(one.security, one.authentication.type) for one in document.spec.listeners] == [("tls", "scram-sha-512")]
    assert document.spec.authorization is not None
    assert document.spec.authorization.anonymous == "refuse"
    (plain,) = load_documents((ROOT / TALES["plaintext"].spec).read_bytes(), file="orders.yaml").documents
    assert document.spec.pools == plain.spec.pools
    assert document.spec.kafka == plain.spec.kafka
    assert document.spec.rollout == plain.spec.rollout


def test_a_cluster_in_zookeeper_mode_is_said_to_speak_plaintext() -> None:
    assert "speaks plaintext" in " ".join(line for c in TALES["zookeeper"].chapters for line in c.lines)
