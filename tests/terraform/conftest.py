"""A local cloud with stand-in VMs (a sleeping process each) and the real Terraform above it."""

import json
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from providers import process
from providers.base import CloudInstance, Listing, TerraformRun
from providers.local.cloud import LocalCloud
from providers.local.reap import reap
from providers.tf.execute import RunResult, execute
from providers.tf.progress import RunProgress
from providers.tf.state_file import LocalStates, StatePaths, state_file
from tests.fakes.resources import PLACE, UID, own
from tests.terraform.cloudbench import MEMORY_FOR_TIME

MODULES = Path(__file__).parents[2] / "terraform" / "modules"


@dataclass
class Bench:
    """What a test needs: a cloud, a state root, and one call that runs Terraform on them."""

    cloud: LocalCloud
    state_root: Path
    progress: list[RunProgress] = field(default_factory=list)

    def execute(self, run: TerraformRun, *, stop: threading.Event | None = None, timeout_s: float = 60.0) -> RunResult:
        return execute(
            own(run, self.cloud.root),
            provider=self.cloud,
            states=LocalStates(self.state_root),
            module_root=MODULES,
            on_progress=self.progress.append,
            stop=stop or threading.Event(),
            timeout_s=timeout_s,
        )

    def listing(self) -> Listing:
        return self.cloud.list_place(PLACE)

    def vm(self, key: str) -> CloudInstance:
        return next(i for i in self.listing().instances if i.key == key)

    def first_pid(self, key: str, uid: str = UID) -> int:
        """Pid of the VM's first process, as recorded."""
        return int(json.loads((self.vm_dir(key, uid) / "vm.json").read_text())["launched"]["pid"])

    def vm_dir(self, key: str, uid: str = UID) -> Path:
        return self.cloud.root / PLACE.region / "instances" / uid / key

    def terraform_processes(self) -> tuple[int, ...]:
        """Terraform and its provisioners, of this bench alone: others on the machine may run theirs."""
        data = process.carrying("TF_DATA_DIR").items()
        return tuple(pid for pid, path in data if Path(path).is_relative_to(self.state_root))

    def state(self, uid: str = UID) -> StatePaths:
        return state_file(self.state_root, uid, PLACE)


@pytest.fixture(autouse=True)
def memory_for_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """For what runs start: `providers.tf.surroundings` passes it on."""
    for name, value in MEMORY_FOR_TIME.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setenv("KEDGE_LOCAL_CLAIMS", str(tmp_path / "claims"))
    cloud = LocalCloud(tmp_path / "cloud", "test", sys.executable, command=("/bin/sleep", "600"))
    try:
        yield Bench(cloud, tmp_path / "states")
    finally:
        reap(cloud.root)
