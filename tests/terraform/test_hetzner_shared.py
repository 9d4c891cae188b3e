"""Clusters at Hetzner that are applied at once from one initialised folder: real Terraform, the vendor's provider."""

import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select

from controlplane.storage.tables import TERRAFORM_PROVIDERS
from events.engine import build_engine, reading
from providers.base import Resources, RunKind, TerraformRun
from providers.errors import TerraformFailed
from providers.hetzner.cloud import HetznerCloud
from providers.tf.execute import RunResult
from providers.tf.runner import TerraformRunner
from tests.databases import sqlite_template
from tests.fakes.clouds.hetzner import TOKEN, fake_hetzner
from tests.fakes.clouds.hetzner_hands import PLACE, in_place, write_settings
from tests.fakes.resources import attachment, instance, resources, run, surge, targets, volume
from tests.terraform.cloudbench import left_beside_states
from tests.terraform.hetznerlife import VERSION, HetznerBench, hcloud_plugins
from tests.terraform.served import serving_states
from tests.tools.hcloud.build import SOURCE

pytestmark = [pytest.mark.terraform, pytest.mark.timeout(300)]

UIDS = tuple(f"uid-{n}" for n in range(8))


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HetznerBench]:
    monkeypatch.setenv("HCLOUD_TOKEN", TOKEN)
    with fake_hetzner() as hetzner:
        settings = write_settings(tmp_path / "hetzner.yaml", hetzner, plugins=hcloud_plugins())
        yield HetznerBench(HetznerCloud("test", settings), hetzner, tmp_path / "states")


@pytest.fixture
def inits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folder of each `init`."""
    seen: list[str] = []
    run_it = TerraformRunner.cmd

    def noting(self: TerraformRunner, cmd: str, *args: str, **kwargs: object) -> tuple[int, str, str]:
        if cmd == "init":
            seen.append(self.working_dir)
        return run_it(self, cmd, *args, **kwargs)

    monkeypatch.setattr(TerraformRunner, "cmd", noting)
    return seen


def cluster(uid: str) -> Resources:
    return in_place(resources(instance("b-0"), volume("b-0"), attachment("b-0.g1", "b-0.data.v1"), uid=uid))


def at_once(bench: HetznerBench, runs: list[TerraformRun]) -> list[RunResult]:
    with ThreadPoolExecutor(len(runs)) as pool:
        return [done.result() for done in [pool.submit(bench.execute, run) for run in runs]]


@pytest.mark.parametrize("uids", [UIDS[:2], pytest.param(UIDS, marks=pytest.mark.soak)], ids=len)
def test_clusters_are_made_changed_and_destroyed_at_once_and_leave_their_states_alone(
    bench: HetznerBench, inits: list[str], uids: tuple[str, ...]
) -> None:
    """What is on disk for a single cluster is its state and the copy from before its last run: nothing else at all.

    Eight at once on the local cloud: test_terraform_initialised.py.
    """
    wanted = {uid: cluster(uid) for uid in uids}
    started = time.monotonic()
    made = at_once(bench, [surge(wanted[uid], intent=f"made-{uid}") for uid in uids])
    seconds = time.monotonic() - started
    assert [set(result.changed) for result in made] == [targets(wanted[uid]) for uid in uids]
    assert sorted(i.cluster_uid for i in bench.listing().instances) == sorted(uids)
    (initialised,) = (bench.state_root / "initialised").glob("*/*")
    assert left_beside_states(bench.state_root) == {}

    first = len(inits)
    grown = {uid: replace(r, volumes=tuple(replace(v, size_gib=50) for v in r.volumes)) for uid, r in wanted.items()}
    grows = [
        replace(run(RunKind.GROW, grown[uid], intent=f"grown-{uid}"), grows={"volume/b-0.data.v1": 50}) for uid in uids
    ]
    assert [result.changed for result in at_once(bench, grows)] == [("volume/b-0.data.v1",)] * len(uids)
    gone = [run(RunKind.DESTROY, grown[uid], deletes=targets(grown[uid]), intent=f"gone-{uid}") for uid in uids]
    assert [set(result.changed) for result in at_once(bench, gone)] == [targets(grown[uid]) for uid in uids]
    assert bench.listing().instances == ()
    assert len(inits) == first, "changed and destroyed with what the first runs initialised"
    assert [initialised] == list((bench.state_root / "initialised").glob("*/*"))
    assert left_beside_states(bench.state_root) == {}
    print(f"{len(uids)} clusters at once: {seconds:.1f} s, {first} x init, 0 bytes beside the states of {PLACE.cloud}")


def test_a_provider_in_another_folder_is_initialised_anew_and_no_run_fails(
    bench: HetznerBench, inits: list[str], tmp_path: Path
) -> None:
    """`init` makes links to the provider: a folder of plugins that moves would leave them leading nowhere."""
    bench.execute(surge(cluster(UIDS[0]), intent="one"))
    moved = tmp_path / "plugins"
    moved.symlink_to(hcloud_plugins())
    settings = tmp_path / "hetzner.yaml"
    settings.write_text(settings.read_text().replace(str(hcloud_plugins()), str(moved)))
    again = replace(bench, cloud=HetznerCloud("test", settings))
    again.execute(surge(cluster(UIDS[1]), intent="two"))
    assert len(inits) == 2
    assert left_beside_states(bench.state_root) == {}


def test_a_provider_of_the_same_version_with_other_contents_is_refused_though_all_else_was_deleted(
    bench: HetznerBench, tmp_path: Path
) -> None:
    """The checksums of the first `init` hold for the one of another cluster, after what that made is gone."""
    bench.execute(surge(cluster(UIDS[0]), intent="one"))
    shutil.rmtree(bench.state_root / "initialised")
    again = with_another_package(bench, tmp_path)
    with pytest.raises(TerraformFailed, match=r"(?s)lock file.*delete that file if other packages are meant"):
        again.execute(surge(cluster(UIDS[1]), intent="two"))
    assert [i.cluster_uid for i in bench.listing().instances] == [UIDS[0]]

    (meant,) = (bench.state_root / "providers").iterdir()
    meant.unlink()
    assert again.execute(surge(cluster(UIDS[1]), intent="two")).changed


def test_the_lock_file_of_the_first_init_is_in_the_database_and_holds_servers_that_have_nothing(
    bench: HetznerBench, inits: list[str], tmp_path: Path
) -> None:
    """Three servers one after the other, each in a home of its own: the third one is offered another package."""
    url, homes = f"sqlite:///{sqlite_template(tmp_path)}", tmp_path / "homes"
    with serving_states(url, homes, home="first", epoch=1) as states:
        bench.execute(surge(cluster(UIDS[0]), intent="one"), states=states)
    (kept,) = lock_files(url)
    assert f'/{SOURCE}" {{' in kept
    assert f'version     = "{VERSION}"' in kept
    assert '"h1:' in kept

    with serving_states(url, homes, home="second", epoch=2) as states:
        assert bench.execute(surge(cluster(UIDS[1]), intent="two"), states=states).changed
    assert len(inits) == 2, "each home is initialised once"
    assert [path.read_text() for path in homes.glob("second/**/.terraform.lock.hcl")] == [kept]

    again = with_another_package(bench, tmp_path)
    with serving_states(url, homes, home="third", epoch=3) as states, pytest.raises(TerraformFailed, match=REFUSED):
        again.execute(surge(cluster(UIDS[2]), intent="three"), states=states)
    assert lock_files(url) == [kept], "what was refused is not chosen"
    assert sorted(i.cluster_uid for i in bench.listing().instances) == list(UIDS[:2])


REFUSED = (
    r"(?s)hetznercloud/hcloud.* doesn't match any of the\schecksums.*first init, in the database: "
    r"delete the row of table terraform_providers with pins = '\w+' if other packages are meant"
)


def with_another_package(bench: HetznerBench, folder: Path) -> HetznerBench:
    """The same cloud, whose provider is of the same version and has one file more."""
    (genuine,) = (hcloud_plugins() / "terraform/plugins").glob("*/*/*/*/*")
    other = folder / "plugins" / genuine.relative_to(hcloud_plugins())
    other.mkdir(parents=True)
    (program,) = genuine.iterdir()
    (other / program.name).symlink_to(program)
    (other / "more").touch()
    settings = folder / "hetzner.yaml"
    settings.write_text(settings.read_text().replace(str(hcloud_plugins()), str(folder / "plugins")))
    return replace(bench, cloud=HetznerCloud("test", settings))


def lock_files(url: str) -> list[str]:
    """What is kept in the database."""
    engine = build_engine(url)
    with reading(engine) as connection:
        bodies = connection.execute(select(TERRAFORM_PROVIDERS.c.body)).scalars().all()
    engine.dispose()
    return [bytes(body).decode() for body in bodies]
