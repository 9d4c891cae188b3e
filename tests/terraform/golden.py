"""States as a released version of a module wrote them, with what the cloud held beside them.

`python -m tests.terraform.golden VERSION` writes those of today's modules, once for each release: a file that is there
is never written again, because a later module could not have written it.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from providers.base import Place, Resources
from providers.hetzner.cloud import HetznerCloud
from providers.local.cloud import LocalCloud
from providers.local.reap import reap
from providers.tf.state_file import state_file
from tests.fakes.clouds.hetzner import TOKEN, FakeHetzner, fake_hetzner
from tests.fakes.clouds.hetzner_hands import PLACE as HETZNER_PLACE, in_place, write_settings
from tests.fakes.resources import (
    PLACE as LOCAL_PLACE,
    UID,
    address,
    attachment,
    binding,
    instance,
    resources,
    surge,
    volume,
)
from tests.terraform import goldennetworks
from tests.terraform.conftest import Bench
from tests.terraform.goldenaws import golden_bench, objects_of as aws_objects, recording, rendered
from tests.terraform.goldenstandins import STAND_INS
from tests.terraform.hetznerlife import HetznerBench, hcloud_plugins

FOLDER = Path(__file__).parent / "golden_states"
LINEAGE = "00000000-0000-4000-8000-000000000000"
ROOT, PYTHON = "/var/lib/kedge/local", "/usr/bin/python3"
"""What stands for the paths of the machine a state was written on."""

PARTS = (
    instance("b-0"),
    volume("b-0"),
    attachment("b-0.g1", "b-0.data.v1"),
    instance("b-1", zone="b"),
    volume("b-1", zone="b", kind="ephemeral"),
    attachment("b-1.g1", "b-1.data.v1"),
    instance("c-0", zone="c"),
    volume("c-0", "meta", zone="c"),
    attachment("c-0.g1", "c-0.meta.v1"),
    address("c-0", zone="c"),
    binding("c-0", "c-0.g1"),
)
"""One of each kind of thing a module makes."""


def golden_files(cloud: str) -> list[Path]:
    """The states of every released version of a cloud's module, oldest first."""
    return sorted((FOLDER / cloud).glob("*.tfstate.json"))


def objects_of(state: Path) -> dict[str, Any]:
    """What the cloud held beside that state."""
    found: dict[str, Any] = json.loads(state.with_name(state.name.replace(".tfstate.", ".objects.")).read_text())
    return found


def local_set() -> Resources:
    return resources(*PARTS)


def hetzner_set() -> Resources:
    return in_place(resources(*PARTS))


@contextmanager
def local_bench(folder: Path) -> Iterator[Bench]:
    """The local cloud with sleeping VMs; they end with it."""
    cloud = LocalCloud(folder / "cloud", "test", sys.executable, command=("/bin/sleep", "600"))
    try:
        yield Bench(cloud, folder / "states")
    finally:
        reap(cloud.root)


@contextmanager
def hetzner_bench(folder: Path) -> Iterator[HetznerBench]:
    """A fake Hetzner and the vendor's provider. The token is the environment's."""
    with fake_hetzner() as hetzner:
        settings = write_settings(folder / "hetzner.yaml", hetzner, plugins=hcloud_plugins())
        yield HetznerBench(HetznerCloud("test", settings), hetzner, folder / "states")


def put_state(state_root: Path, place: Place, golden: Path) -> None:
    """Makes a golden state the one of the cluster."""
    kept = state_file(state_root, UID, place)
    with kept.locked("golden", on_lost=lambda: None):
        kept.write(golden.read_bytes())


def put_objects(hetzner: FakeHetzner, objects: Mapping[str, Any]) -> None:
    """Has the fake hold what was recorded, under the same ids."""
    project = hetzner.project
    for kind, things in objects["kinds"].items():
        project.kinds[kind].clear()
        project.kinds[kind].update({int(number): thing for number, thing in things.items()})
    project.user_data.update({int(number): text for number, text in objects["user_data"].items()})


def _written(state_root: Path, place: Place, *paths: tuple[str, str]) -> str:
    body = state_file(state_root, UID, place).read()
    assert body is not None
    text = body.decode()
    for path, stands_for in paths:
        text = text.replace(path, stands_for)
    return _json({**json.loads(text), "lineage": LINEAGE})


def _json(value: object) -> str:
    return json.dumps(value, indent=1, sort_keys=True) + "\n"


def _keep(cloud: str, version: str, state: str, objects: str) -> None:
    (FOLDER / cloud).mkdir(parents=True, exist_ok=True)
    (FOLDER / cloud / f"{version}.objects.json").write_text(objects)
    (FOLDER / cloud / f"{version}.tfstate.json").write_text(state)


def _write(version: str) -> None:
    for cloud, stand_in in STAND_INS.items():
        if not _is_written(cloud, version):
            with tempfile.TemporaryDirectory() as folder, stand_in.bench(Path(folder)) as opened:
                wanted = stand_in.rendered(opened, PARTS)
                opened.execute(surge(wanted))
                objects = _json(stand_in.objects(opened))
                _keep(cloud, version, _written(opened.state_root, opened.place), objects)
    if not _is_written("local", version):
        _write_local(version)
    if not _is_written("hetzner", version):
        _write_hetzner(version)
    if not _is_written("aws", version):
        _write_aws(version)
    for cloud in goldennetworks.CLOUDS:
        if not goldennetworks.is_written(cloud, version):
            with tempfile.TemporaryDirectory() as folder:
                goldennetworks.write(cloud, version, Path(folder))


def _is_written(cloud: str, version: str) -> bool:
    return (FOLDER / cloud / f"{version}.tfstate.json").exists()


def _write_local(version: str) -> None:
    with tempfile.TemporaryDirectory() as folder, local_bench(Path(folder)) as bench:
        bench.execute(surge(local_set()))
        paths = (str(bench.cloud.root), ROOT), (sys.executable, PYTHON)
        _keep("local", version, _written(bench.state_root, LOCAL_PLACE, *paths), _json({}))


def _write_hetzner(version: str) -> None:
    os.environ["HCLOUD_TOKEN"] = TOKEN
    with tempfile.TemporaryDirectory() as folder, hetzner_bench(Path(folder)) as there:
        there.execute(surge(hetzner_set()))
        project = there.hetzner.project
        objects = {"kinds": project.kinds, "user_data": project.user_data}
        _keep("hetzner", version, _written(there.state_root, HETZNER_PLACE), _json(objects))


def _write_aws(version: str) -> None:
    with tempfile.TemporaryDirectory() as folder, golden_bench(Path(folder)) as bench:
        with recording(bench.aws) as calls:
            bench.execute(surge(rendered(bench, PARTS)))
        objects = _json(aws_objects(bench, calls))
        _keep("aws", version, _written(bench.state_root, bench.place), objects)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("version", help="the release whose modules are checked out, as 0.1.0")
    wanted = parser.parse_args().version
    vms = all(_is_written(cloud, wanted) for cloud in (*STAND_INS, "local", "hetzner", "aws"))
    if vms and all(goldennetworks.is_written(cloud, wanted) for cloud in goldennetworks.CLOUDS):
        sys.exit(f"{FOLDER} has states of {wanted} for every cloud: they are written once. Nothing was changed.")
    _write(wanted)
