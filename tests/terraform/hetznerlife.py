"""Where Terraform's provider for Hetzner is on this machine, and a bench with a fake Hetzner behind it."""

import functools
import os
import shlex
import signal
import subprocess
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from providers.base import TerraformRun
from providers.hetzner.cloud import HetznerCloud
from providers.tf.progress import RunProgress
from providers.tf.run_folder import processes_of
from tests.fakes.clouds.hetzner import FakeHetzner
from tests.fakes.clouds.hetzner_hands import PLACE
from tests.standins.mirror import MODULES as MODULES
from tests.terraform.cloudbench import MEMORY_FOR_TIME, CloudBench
from tests.tools.hcloud.build import SOURCE, version

ROOT = Path(__file__).parents[2]
VERSION = "1.68.0"


@functools.cache
def hcloud_plugins() -> Path:
    """A folder with the provider that `make setup` built, as `hetzner.yaml` names it in `plugins`. Fails without it.

    Terraform finds a script that becomes the vendor's program: it reads all that a plugin's folder has in each command,
    for its checksum, and the program is 26 MB.
    """
    assert version() == VERSION, "tests/tools/hcloud/go.mod and the modules name different versions"
    cache = ROOT / ".cache"
    built = list(cache.glob(f"terraform/plugins/*/{SOURCE}/{VERSION}/*/terraform-provider-hcloud_v{VERSION}"))
    if not built:
        pytest.fail(f"Terraform's provider {SOURCE} {VERSION} is not built: install Go 1.26 and run `make setup`")
    folder = cache / "terraform" / "by-script"
    script = folder / built[0].relative_to(cache)
    script.parent.mkdir(parents=True, exist_ok=True)
    # Put there whole: other processes of tests may be about to start it.
    made = folder / str(uuid.uuid4())
    made.write_text(f'#!/bin/sh\nexec {shlex.quote(str(built[0]))} "$@"\n')
    made.chmod(0o755)
    made.rename(script)
    return folder


def terraform(directory: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Terraform by hand in a folder, with the provider that was built and nothing of the person's environment."""
    (directory / "rc").write_text("disable_checkpoint = true\n")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(directory),
        "XDG_DATA_DIRS": str(hcloud_plugins()),
        **MEMORY_FOR_TIME,
        "TF_CLI_CONFIG_FILE": str(directory / "rc"),
        **more,
    }
    return subprocess.run(
        ["terraform", *arguments], cwd=directory, env=environment, capture_output=True, text=True, check=False
    )


def initialised_copy(module: Path, directory: Path) -> Path:
    """A module's files in a folder of their own, after `init`."""
    for path in module.glob("*.tf"):
        (directory / path.name).write_text(path.read_text())
    done = terraform(directory, "init", "-no-color")
    assert done.returncode == 0, done.stderr
    return directory


@dataclass
class HetznerBench(CloudBench):
    """A cloud on the fake, a state root, and one call that runs the real Terraform with the real provider on them."""

    place = PLACE

    cloud: HetznerCloud
    hetzner: FakeHetzner
    state_root: Path
    progress: list[RunProgress] = field(default_factory=list)

    def kill_during(self, run: TerraformRun, *calls: str) -> None:
        """Kill -9 of Terraform and its plugins once Hetzner has done one of `calls`, before anybody hears of it.

        Once for each. A call is told as `POST /servers`, or by how its path ends.
        """
        answer, left, run_id = self.hetzner.answer, set(calls), self.marked(run).intent_id

        def kill(method: str, path: str, token: str, body: bytes) -> Any:
            told = answer(method, path, token, body)
            done = next((call for call in left if f"{method} {path.removeprefix('/v1')}".endswith(call)), None)
            if done is not None:
                left.discard(done)
                for pid in processes_of(run_id):
                    os.kill(pid, signal.SIGKILL)
            return told

        self.hetzner.answering = kill
