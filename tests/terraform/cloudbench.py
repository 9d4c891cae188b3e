"""What the benches of all clouds do alike: run the real Terraform on a cloud, and look at what it made."""

import threading
from pathlib import Path
from typing import ClassVar

from providers.base import CloudInstance, CloudProvider, Listing, Place, TerraformRun
from providers.tf.execute import RunResult, execute
from providers.tf.progress import RunProgress
from providers.tf.state_file import LocalStates
from providers.tf.states import StateStorage
from tests.fakes.resources import own
from tests.standins.mirror import MODULES, by_themselves

MEMORY_FOR_TIME = {"GOGC": "off", "GOMEMLIMIT": "1GiB"}
"""Of what a command takes, and of what reading a large provider's schema takes even more, a good part is Go's
collecting of garbage. Each program collects none before it has a GiB."""


class CloudBench:
    """A cloud, a state root, and one call that runs Terraform on them. `progress` is what it told."""

    cloud: CloudProvider
    state_root: Path
    progress: list[RunProgress]
    place: ClassVar[Place]
    timeout_s: ClassVar[float] = 120.0

    def execute(
        self, run: TerraformRun, *, stop: threading.Event | None = None, states: StateStorage | None = None
    ) -> RunResult:
        """`states`: where they are, if not in files."""
        return execute(
            self.marked(run),
            provider=self.cloud,
            states=states or LocalStates(self.state_root),
            module_root=MODULES,
            on_progress=self.progress.append,
            stop=stop or threading.Event(),
            timeout_s=self.timeout_s,
        )

    def marked(self, run: TerraformRun) -> TerraformRun:
        """The run under an id of this bench's own: runs are found, and ended, by it."""
        return own(run, self.state_root)

    def has_plugins_to_kill(self, yes: bool = True) -> None:
        """From here on (or no more) a stand-in is a process of its run: whoever kills those of a run kills it."""
        by_themselves(self.state_root.parent / "plugins", yes)

    def listing(self) -> Listing:
        return self.cloud.list_place(self.place)

    def vm(self, key: str) -> CloudInstance:
        return next(i for i in self.listing().instances if i.key == key)


def left_beside_states(root: Path) -> dict[str, int]:
    """Bytes by path of what runs left below the root for single clusters, beside a state and its copy from before the
    last run. Folders count with what they take on disk, but for the two in which a state is."""
    left: dict[str, int] = {}
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        is_state = len(parts) == 3 and path.name in ("terraform.tfstate", "terraform.tfstate.before")
        holds_one = len(parts) < 3 and any(path.rglob("terraform.tfstate"))
        if parts[0] not in ("initialised", "providers") and not is_state and not holds_one:
            left[str(path.relative_to(root))] = path.lstat().st_size
    return left
