"""A whole `kedge server` whose states are in its database: it serves its own Terraform, and ends it before it stops."""

import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from controlplane.storage.home import Home
from controlplane.storage.job import JobState
from controlplane.storage.job_store import SqlJobStore
from controlplane.storage.terraform_states.encryption import StateSeal
from controlplane.storage.terraform_states.lock_rows import SqlStateLocks
from controlplane.storage.terraform_states.versions import SqlStateVersions
from events.engine import build_engine
from events.ids import ClusterUid
from providers import process
from providers.local.faults import Faults
from providers.local.reap import reap
from providers.tf.state_body import targets_in
from tests.contract.test_api_server import Server
from tests.unit.events.spec_texts import ORDERS

pytestmark = pytest.mark.terraform

SMALL = ORDERS.replace("size: 3", "size: 1")
VMS = {"instance/brokers-a-0.g1", "instance/controllers-a-0.g1"}

SETTINGS = """
terraform_state = "http"
kafka_dir = "{empty}"
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    monkeypatch.setenv("KEDGE_LOCAL_CLAIMS", str(tmp_path / "claims"))
    (tmp_path / "home").mkdir()
    (tmp_path / "kafka").mkdir()
    (tmp_path / "home" / "kedge.toml").write_text(SETTINGS.format(empty=tmp_path / "kafka"))
    yield Home(tmp_path / "home")
    reap(tmp_path / "home" / "local")


@pytest.fixture
def start(home: Home, tmp_path: Path) -> Iterator[Callable[[], Server]]:
    started: list[Server] = []

    def start() -> Server:
        started.append(Server(home, KEDGE_LOCAL_CLAIMS=str(tmp_path / "claims")))
        return started[-1].wait_until_it_listens()

    yield start
    for server in started:
        server.end()


# Of a killed one test_terraform_http.py has the same, for a server without all that is around it.
@pytest.mark.parametrize(
    "end",
    [
        pytest.param(signal.SIGTERM, id="stopped"),
        pytest.param(signal.SIGKILL, id="killed", marks=pytest.mark.soak),
    ],
)
def test_what_a_server_was_in_the_middle_of_is_finished_by_the_next_one_from_the_database(
    start: Callable[[], Server], home: Home, end: signal.Signals
) -> None:
    (home.path / "local").mkdir()
    Faults(home.path / "local").set_vm("slow_create_s", {"*": 60})
    first = start()
    assert first.post("/v1/apply", {"text": SMALL}).json()["ok"]
    wait_for(lambda: list((home.path / "local").glob("*/instances/*/*/vm.json")), first)
    uid = ClusterUid(first.get("/v1/clusters/orders").json()["uid"])
    engine = build_engine(f"sqlite:///{home.path / 'kedge.db'}")
    locks = SqlStateLocks(engine)
    versions = SqlStateVersions(engine, seal=StateSeal(home.installation().server_key.get_secret_value()), keep=50)
    first.signal(end)
    if end is signal.SIGTERM:
        assert first.wait() == 0, first.log
        (key,) = versions.keys()
        saved = targets_in(versions.read(key))
        assert any(target.startswith("volume/") for target in saved), "what was made before is in it"
        assert locks.holder(key) is None, "and nobody holds it"
    else:
        first.wait()

    Faults(home.path / "local").clear()
    second = start()
    wait_for(lambda: any(job.state is JobState.SUCCEEDED for job in SqlJobStore(engine).of_cluster(uid)), second)
    second.signal(signal.SIGTERM)
    assert second.wait() == 0, second.log
    (key,) = versions.keys()
    assert instances(versions.read(key)) == VMS
    assert locks.holder(key) is None
    assert len({version.lineage for version in versions.versions(key)}) == 1
    assert len({path.parent.name for path in (home.path / "local").glob("*/instances/*/*/vm.json")}) == len(VMS)
    assert not [path for path in (home.path / "terraform").rglob("*tfstate*") if b"lineage" in path.read_bytes()]
    engine.dispose()


def instances(body: bytes | None) -> set[str]:
    return {target for target in targets_in(body) if target.startswith("instance/")}


def wait_for(condition: Callable[[], object], server: Server) -> None:
    assert process.wait_until(lambda: bool(condition()), timeout_s=90, poll_s=0.1), server.log
