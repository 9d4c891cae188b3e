"""The machine image of the local cloud: the jars of a Kafka release, fetched once with Maven, whole or not at all."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from agent.exit_reason import exit_reason
from providers.errors import CloudUnavailable
from providers.local.cds import archive_classes, roles_of
from providers.local.record import locked

_POM = Path(__file__).parent / "images" / "pom.xml"
_MIRROR_MAKER = "mirror-maker"
"""As agents look for it (`agent.services.launch`), which this must not import: images are built beside the packages."""
_MIRROR_MAKER_POM = Path(__file__).parent / "images" / "mirror_maker" / "pom.xml"


def ensure_image(version: str, cache_dir: Path) -> Path:
    """The folder `<cache>/kafka/<version>/libs`, complete. Fetches it if needed (about 10 s, 55 MB).

    The jars appear by a rename, after Maven ended well, and a manifest beside them lists their sizes: a
    folder that does not match it is fetched again. Raises `CloudUnavailable` with Maven's last words.
    """
    home = (cache_dir / "kafka" / version).absolute()
    home.mkdir(parents=True, exist_ok=True)
    with locked(home / ".lock"):
        if not _complete(home):
            _fetch(version, home)
    return home / "libs"


def build_cds(version: str, cache_dir: Path) -> Path:
    """The folder `<cache>/kafka/<version>/cds` with an archive of loaded classes per role, made if missing.

    A JVM started with one (`-XX:SharedArchiveFile`) is up in half the time. It is valid only for the very
    jars, paths and times it was made from; Java ignores it otherwise.
    """
    libs = ensure_image(version, cache_dir)
    target, roles = libs.parent / "cds", roles_of(version)
    with locked(libs.parent / ".lock"):
        if not all((target / f"{role}.jsa").exists() for role in roles):
            target.mkdir(exist_ok=True)
            with tempfile.TemporaryDirectory(dir=libs.parent, prefix=".cds-") as work:
                for archive in archive_classes(libs, Path(work), roles):
                    archive.rename(target / archive.name)
    return target


def ensure_mirror_maker(version: str, cache_dir: Path) -> Path:
    """The folder `<cache>/kafka/<version>/mirror-maker`, fetched if needed: what MirrorMaker 2 needs beside `libs`, and
    nothing that is there (11 MB). It appears by a rename, after Maven ended well. Raises `CloudUnavailable`."""
    libs = ensure_image(version, cache_dir)
    target = libs.parent / _MIRROR_MAKER
    with locked(libs.parent / ".lock"):
        if not target.is_dir():
            with tempfile.TemporaryDirectory(dir=libs.parent, prefix=".fetch-") as work:
                fetched = Path(work) / _MIRROR_MAKER
                _maven(_MIRROR_MAKER_POM, version, fetched)
                for jar in fetched.glob("*.jar"):
                    if (libs / jar.name).exists():
                        jar.unlink()
                fetched.rename(target)
    return target


def _fetch(version: str, home: Path) -> None:
    with tempfile.TemporaryDirectory(dir=home, prefix=".fetch-") as work:
        fetched = Path(work) / "libs"
        _maven(_POM, version, fetched)
        libs = home / "libs"
        if libs.exists() and _sizes(libs) != _sizes(fetched):
            libs.rename(Path(work) / "replaced")
            shutil.rmtree(home / "cds", ignore_errors=True)
        if not libs.exists():  # else it is exactly that already: leave files alone that a JVM may have open
            fetched.rename(libs)
        (home / "manifest.json").write_text(json.dumps(_sizes(libs), indent=1, sort_keys=True))


def _maven(pom: Path, version: str, target: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise CloudUnavailable("Maven (mvn) is not installed; it fetches the jars of Kafka")
    done = subprocess.run(
        [
            maven,
            "-B",
            "-q",
            "-f",
            str(pom),
            "dependency:copy-dependencies",
            f"-Dkafka.version={version}",
            f"-DoutputDirectory={target}",
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )
    if done.returncode != 0 or not target.is_dir():
        raise CloudUnavailable(f"Maven could not fetch Kafka {version}: {exit_reason(done.stdout + done.stderr).words}")


def _complete(home: Path) -> bool:
    manifest = home / "manifest.json"
    return manifest.exists() and json.loads(manifest.read_text()) == _sizes(home / "libs")


def _sizes(libs: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in libs.glob("*.jar")}
