"""The real app on a loopback address of its own, serving states out of a database to the real Terraform."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import uvicorn

from controlplane.api.portal_access import Door, at_door
from controlplane.portal.app import create_app
from controlplane.runtime.listen_addresses import listening
from controlplane.storage.terraform_states.run_credentials import RunPass, RunPasses
from controlplane.storage.terraform_states.storage import ServedStates
from events.engine import build_engine
from providers import process
from providers.base import TerraformRun
from providers.local.cloud import LocalCloud
from providers.tf.execute import RunResult, execute
from providers.tf.progress import OnProgress
from providers.tf.states import StateKey
from tests.fakes.resources import own
from tests.fakes.states import Served
from tests.terraform.conftest import MODULES
from tests.unit.controlplane.api.portal_house import House

ADDRESS = "127.0.0.9"


class NotedPasses(RunPasses):
    """Remembers what it issued, so that tests can look where it went; and opens nothing where a test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.ever: list[RunPass] = []
        self.refuses: Callable[[StateKey], bool] = lambda _: False

    def issue(self, key: StateKey, hold_id: str) -> RunPass:
        """See RunPasses."""
        self.ever.append(super().issue(key, hold_id))
        return self.ever[-1]

    def check(self, user: str, password: str) -> RunPass | None:
        """See RunPasses."""
        found = super().check(user, password)
        return None if found is not None and self.refuses(found.key) else found


@dataclass
class Server:
    """One server of an installation: a home of its own, an epoch, and the database all share."""

    states: ServedStates
    cloud: LocalCloud
    commands: list[str] = field(default_factory=list)

    def execute(
        self, run: TerraformRun, *, stop: threading.Event | None = None, on_progress: OnProgress = lambda _: None
    ) -> RunResult:
        return execute(
            own(run, self.cloud.root),
            provider=self.cloud,
            states=self.states,
            module_root=MODULES,
            on_progress=on_progress,
            stop=stop or threading.Event(),
            timeout_s=60.0,
        )

    @property
    def passes(self) -> NotedPasses:
        assert isinstance(self.states.passes, NotedPasses)
        return self.states.passes


@contextmanager
def serving(url: str, root: Path, cloud: LocalCloud, *, home: str = "home", epoch: int = 1) -> Iterator[Server]:
    """A server on the database at `url`, until the end of the block. `root` is where homes are."""
    with serving_states(url, root, home=home, epoch=epoch) as states:
        yield Server(states, cloud)


@contextmanager
def serving_states(url: str, root: Path, *, home: str = "home", epoch: int = 1) -> Iterator[ServedStates]:
    """The states of such a server, for runs on any cloud."""
    engine = build_engine(url)
    with listening(ADDRESS, 0) as door:
        port = door.getsockname()[1]
        made = Served(engine, root, url=f"http://{ADDRESS}:{port}").server(
            epoch=epoch, home=home, passes=NotedPasses(), renew_every_s=0.1
        )
        services = House().services
        services = replace(services, operations=replace(services.operations, states=made))
        app = at_door(create_app(services), Door.STATES)
        config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [door]}, daemon=True)
        thread.start()
        assert process.wait_until(lambda: server.started, timeout_s=20), "the app does not start"
        try:
            yield made
        finally:
            server.should_exit = True
            thread.join(20)
            engine.dispose()


SCRIPT = """
import sys
from pathlib import Path
from providers.local.cloud import LocalCloud
from tests.fakes.resources import surge
from tests.terraform.served import serving
from tests.terraform.test_terraform_http import WANTED
url, root, cloud = sys.argv[1:]
vms = LocalCloud(Path(cloud), "test", sys.executable, command=("/bin/sleep", "600"))
with serving(url, Path(root), vms, home="first", epoch=1) as server:
    server.execute(surge(WANTED))
"""


def start_server(url: str, root: Path, cloud: LocalCloud) -> subprocess.Popen[bytes]:
    """A server of epoch 1 that surges in a process of its own, to be killed."""
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, url, str(root), str(cloud.root)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        start_new_session=True,
    )
