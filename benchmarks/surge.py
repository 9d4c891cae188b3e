"""A surge on AWS as Kedge runs it, against `plan -out`, `show` and `apply` by hand: real Terraform and provider, moto.

    python -m benchmarks surge [--row NAME] [--vms N] [--rounds N] [--out FILE]

Rows: `own-disks` (VMs alone, whose disks are their own) and `data-disks` (each with a volume and its attachment, so
that most of the time is the provider's fixed waits). A round is one surge of ours and one by hand, the next round the
other way round, each of a new cluster whose folder is initialised already (`init_s`: ours is a whole run that makes
nothing, by hand it is `init` alone); ratio is that of the sums. Ours is `execute` as servers call it: the listing
before a create, plan, guard, apply. By hand is the same module with the same values and environment. What a row found
is in FILE after each round. The provider is the vendor's whole program, so what Terraform takes to read 700 MB for its
checksum is in both.
"""

import argparse
import json
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from providers.aws.cloud import AwsCloud
from providers.base import Resources, TerraformRun
from providers.tf.execute import execute
from providers.tf.state_file import LocalStates
from providers.tf.states import StateAccess
from providers.tf.surroundings import environment_of
from providers.tf.workspace import open_workspace, rendered
from tests.fakes.clouds.aws import MotoCloud, moto_cloud
from tests.fakes.clouds.aws_hands import PLACE, AwsHarness, write_settings
from tests.fakes.resources import attachment, instance, own, resources, surge, volume
from tests.standins.mirror import MODULES
from tests.terraform.awslife import aws_mirror, linked

ROWS = {"own-disks": False, "data-disks": True}
"""Row -> whether each VM has a volume that outlives it."""

ZONES = ("a", "b", "c")
_COMMAND_S = 460.0


def main(arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Seconds of each surge and the ratio of their sums, by row. Raises SystemExit without the AWS provider."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks surge")
    parser.add_argument("--row", choices=sorted(ROWS), action="append")
    parser.add_argument("--vms", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(".cache") / "benchmarks" / "surge.json")
    asked = parser.parse_args(arguments)
    mirror = aws_mirror()
    if mirror is None:
        raise SystemExit("no folder of this machine has Terraform's AWS provider, see docs/clouds/aws.md")
    found: dict[str, Any] = {}
    for row in asked.row or ROWS:
        for round_ in _rounds(mirror, vms=asked.vms, rounds=asked.rounds, disks=ROWS[row]):
            found[row] = round_
            asked.out.parent.mkdir(parents=True, exist_ok=True)
            asked.out.write_text(json.dumps({"vms": asked.vms, "rows": found}, indent=1))
            print(row, json.dumps(round_), flush=True)
    return {"vms": asked.vms, "rows": found}


def _rounds(mirror: Path, *, vms: int, rounds: int, disks: bool) -> Iterator[dict[str, Any]]:
    """What all rounds so far came to, after each."""
    ours: list[float] = []
    hands: list[float] = []
    inits: dict[str, list[float]] = {"ours": [], "hands": []}
    for number in range(rounds):
        with _bench(mirror) as bench:
            sides = [(ours, bench.ours, "ours"), (hands, bench.by_hand, "hands")]
            for times, act, side in sides if number % 2 == 0 else reversed(sides):
                init_s, seconds = act(bench.cluster(f"{side}{number}", vms, disks=disks))
                inits[side].append(round(init_s, 2))
                times.append(round(seconds, 2))
        yield {
            "ours_s": ours,
            "by_hand_s": hands,
            "ratio": round(sum(ours) / sum(hands), 4),
            "init_s": {side: list(times) for side, times in inits.items()},
            "load": round(os.getloadavg()[0], 2),
        }


@dataclass(frozen=True, slots=True)
class _Bench:
    """An account of moto with nothing in it, and a folder."""

    cloud: AwsCloud
    aws: MotoCloud
    folder: Path

    def cluster(self, uid: str, vms: int, *, disks: bool) -> Resources:
        """A cluster of so many brokers, spread over three zones."""
        parts: list[Any] = []
        for index in range(vms):
            node, zone = f"b-{index}", ZONES[index % len(ZONES)]
            parts.append(instance(node, zone=zone))
            if disks:
                parts += [volume(node, zone=zone), attachment(f"{node}.g1", f"{node}.data.v1")]
        return AwsHarness(self.cloud, self.aws).here(resources(*parts, uid=uid))

    def ours(self, wanted: Resources) -> tuple[float, float]:
        """Seconds of a run that makes nothing, which initialises, and of the surge."""
        nothing = surge(resources(uid=wanted.cluster_uid, place=wanted.place), intent="nothing")
        init_s = _timed(lambda: self._execute(nothing))
        run = surge(wanted, intent="surge")
        seconds = _timed(lambda: self._execute(run))
        self._is_made(wanted, run)
        return init_s, seconds

    def by_hand(self, wanted: Resources) -> tuple[float, float]:
        """Seconds of `init`, and of the three commands a careful person types."""
        run = surge(wanted, intent="surge")
        workspace = open_workspace(
            self.folder / "hands" / wanted.cluster_uid,
            module=MODULES / "aws",
            access=StateAccess({"local": {"path": str(self.folder / "hands" / f"{wanted.cluster_uid}.tfstate")}}),
            variables=self.cloud.variables(rendered(run)),
            intent_id=run.intent_id,
        )
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(workspace.directory),
            "TF_CLI_CONFIG_FILE": str(workspace.cli_config),
            **environment_of(f"hands-{wanted.cluster_uid}", self.cloud, wanted.place),
        }

        def terraform(*command: str) -> None:
            done = subprocess.run(
                ["terraform", *command],
                cwd=workspace.directory,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=_COMMAND_S,
            )
            if done.returncode:
                raise RuntimeError(f"terraform {command[0]} by hand: {done.stderr[-2000:]}")

        def surge_it() -> None:
            terraform("plan", "-input=false", "-out=run.tfplan")
            terraform("show", "run.tfplan")
            terraform("apply", "-input=false", "run.tfplan")

        init_s = _timed(lambda: terraform("init", "-input=false"))
        seconds = _timed(surge_it)
        self._is_made(wanted, run)
        return init_s, seconds

    def _execute(self, run: TerraformRun) -> None:
        execute(
            own(run, self.folder),
            provider=self.cloud,
            states=LocalStates(self.folder / "states"),
            module_root=MODULES,
            on_progress=lambda _: None,
            stop=threading.Event(),
            timeout_s=_COMMAND_S,
        )

    def _is_made(self, wanted: Resources, run: TerraformRun) -> None:
        """A surge that made too little is no measure of anything."""
        there = {i.key for i in self.cloud.list_place(PLACE).instances if i.cluster_uid == wanted.cluster_uid}
        missing = {i.key for i in wanted.instances} - there
        if missing:
            raise RuntimeError(f"{run.intent_id} of {wanted.cluster_uid} left out {', '.join(sorted(missing))}")


@contextmanager
def _bench(mirror: Path) -> Iterator[_Bench]:
    before = {name: os.environ.get(name) for name in _CREDENTIALS}
    os.environ.update(_CREDENTIALS)
    try:
        with tempfile.TemporaryDirectory() as folder, moto_cloud() as aws:
            top = Path(folder)
            settings = write_settings(top / "aws.yaml", aws, plugins=linked(mirror, top))
            yield _Bench(AwsCloud("test", settings), aws, top)
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


_CREDENTIALS: Mapping[str, str] = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}


def _timed(act: Any) -> float:
    started = time.monotonic()
    act()
    return time.monotonic() - started
