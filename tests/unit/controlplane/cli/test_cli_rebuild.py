"""`kedge rebuild` before it finds anything: what it refuses to guess, and what it tells to type."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr
from typer.testing import Result

from agent.wire import BootData
from controlplane.converger.questions.documents import document_for
from controlplane.runtime.process_lock import LeaderLock
from controlplane.storage.home import Home
from controlplane.storage.migrate import upgrade
from events.engine import build_engine
from events.envelope import NewEvent, Origin
from events.sql_store import SqlEventStore
from providers import tags
from providers.local.record import write_record
from tests.builders import a_spec
from tests.unit.controlplane.cli.invoked import kedge
from tests.unit.controlplane.server.rebuild.rebuild_evidence import UID, what_ran


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KEDGE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("KEDGE_LOCAL_CLAIMS", str(tmp_path / "claims"))
    return tmp_path / "home"


@pytest.fixture
def specs(tmp_path: Path) -> str:
    folder = tmp_path / "specs"
    folder.mkdir()
    (folder / "orders.yaml").write_text(a_spec())
    return str(folder)


def rebuild(*arguments: str) -> Result:
    return kedge("rebuild", *arguments)


def test_without_an_installation_id_it_does_not_guess_whose_vms_are_ours(home: Path, specs: str) -> None:
    answer = rebuild("-f", specs)
    assert answer.exit_code == 1
    assert "--installation ID" in answer.stderr
    assert not (home / "installation-id").exists(), "a look mints nothing"


def test_another_installation_than_the_homes_is_refused(home: Path, specs: str) -> None:
    Home(home).keep_installation_id("ours")
    assert "is not installation theirs" in rebuild("-f", specs, "--installation", "theirs").stderr


def test_a_database_with_a_history_is_not_lost(home: Path, specs: str) -> None:
    home.mkdir()
    url = f"sqlite:///{home / 'kedge.db'}"
    upgrade(url)
    engine = build_engine(url)
    SqlEventStore(engine).append("a", [NewEvent("1", "t", 1, {})], expected_version=0, origin=Origin("converger"))
    engine.dispose()
    answer = rebuild("-f", specs)
    assert answer.exit_code == 1
    assert "holds 1 event" in answer.stderr
    assert "start the server" in answer.stderr


def test_a_spec_without_vms_is_told_and_nothing_is_made_of_it(home: Path, specs: str) -> None:
    answer = rebuild("-f", specs, "--installation", "ours", "-o", "json")
    assert answer.exit_code == 0, answer.stderr
    report = json.loads(answer.stdout)
    assert (report["kind"], report["written"], report["clusters"]) == ("Rebuild", False, [])
    assert "orders has no VM" in report["findings"][0]["message"]
    assert not (home / "kedge.db").exists()


def test_a_spec_that_is_not_valid_is_named_with_its_place(home: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(a_spec().replace("size: 3", "size: minus"))
    answer = rebuild("-f", str(bad), "--installation", "ours")
    told = answer.stderr.replace("\n", "")  # a long path is folded at the page's width
    assert f"{bad}:" in told
    assert "kedge validate --offline" in answer.stderr


def test_an_empty_folder_and_a_place_that_is_none_are_told(home: Path, specs: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "no spec in the folder" in rebuild("-f", str(tmp_path / "empty")).stderr
    answer = rebuild("-f", specs, "--place", "nowhere", "--installation", "ours")
    assert answer.exit_code == 64
    assert "CLOUD/REGION" in answer.stderr


def test_a_place_that_cannot_be_read_is_unknown_not_empty(home: Path, specs: str) -> None:
    answer = rebuild("-f", specs, "--place", "local/atlantis", "--installation", "ours")
    assert answer.exit_code == 1
    assert "unknown, not empty" in answer.stderr


@pytest.fixture
def running(home: Path) -> None:
    """Records of six VMs as the local cloud keeps them, and what their agents keep on their disks."""
    ran = what_ran()
    for instance in ran.alive():
        vm_dir = home / "local" / "local-1" / "instances" / UID / instance.key
        own = {
            tags.INSTALLATION: "ours",
            tags.CLUSTER_UID: UID,
            tags.CLUSTER_NAME: "orders",
            tags.NODE: instance.node,
            tags.GENERATION: str(instance.planned.generation),
            tags.INTENT: instance.intent,
        }
        born = {"address": "127.64.0.9", "zone": instance.planned.rack, "shape": "small", "image": "4.1.1"}
        now = datetime.now(UTC).isoformat()
        write_record(vm_dir / "vm.json", {"tags": own, **born, "created_at": now, "launched": None})
        told = document_for(ran, instance.key, epoch=7)
        assert told is not None
        kept = {"etag": "1", "document": told.model_dump(mode="json")}
        write_record(vm_dir / "agent" / "records" / "document.json", kept)
        boot = BootData(
            server_url="http://127.0.0.1:9999",
            installation_id="ours",
            cluster_uid=UID,
            node=instance.node,
            generation=1,
            intent_id=instance.intent,
            token=SecretStr("lost"),
        )
        write_record(vm_dir / "boot.json", boot.model_dump(mode="json"))


def test_it_writes_once_holds_everything_and_puts_the_home_in_order(home: Path, specs: str, running: None) -> None:
    state = home / "terraform" / UID / "local.default.local-1"
    state.mkdir(parents=True)
    (state / "terraform.tfstate").write_text("{}")
    asked = ("-f", specs, "--installation", "ours", "--write")
    assert "--write -y" in rebuild(*asked).stderr, "nobody is there to be asked"
    answer = rebuild(*asked, "-y", "-o", "json")
    assert answer.exit_code == 0, answer.stdout + answer.stderr
    report = json.loads(answer.stdout)
    assert report["written"]
    assert report["events"] == 1 + 1 + 1 + 1 + 6
    assert "server-key" in {f["subject"] for f in report["findings"]}, "these VMs were born with another one"
    assert "kedge resume orders" in answer.stderr
    assert (home / "agent-url").read_text() == "http://127.0.0.1:9999\n"
    assert (home / "installation-id").read_text() == "ours\n"
    assert [p.name[:32] for p in state.glob("terraform.tfstate*")] == ["terraform.tfstate.before-rebuild"]
    assert "there is a history" in rebuild(*asked, "-y").stderr


def test_it_writes_nothing_while_a_server_leads(home: Path, specs: str, running: None) -> None:
    lock = LeaderLock(home / "leader.lock")
    assert lock.take()
    answer = rebuild("-f", specs, "--installation", "ours", "--write", "-y")
    lock.give_back()
    assert answer.exit_code == 1
    assert "stop it first" in answer.stderr
    assert not (home / "kedge.db").exists()
