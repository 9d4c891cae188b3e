"""What is taken for an agent: the very bytes that were signed, whole, and nothing that leads out of its folder."""

import hashlib
import io
import tarfile
from pathlib import Path

import httpx
import pytest

from agent.platforms import own_platform
from agent.upgrades.archive import (
    ArchiveRefused,
    FetchFailed,
    build_for,
    check_signature,
    fetch,
    keep_only,
    unpack,
    version_in,
)
from agent.upgrades.choice import InstalledBundle
from agent.wire import AgentBuild
from tests.agent.upgraded import Signer

INIT = b'__version__ = "1.1.0"\n'


def archive(folder: Path, **files: bytes) -> Path:
    """A tar of these files (`__` for a slash); a name that ends in `@` is a symbolic link."""
    path = folder / "agent.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for name, body in files.items():
            entry = tarfile.TarInfo(name.replace("__", "/").rstrip("@"))
            entry.size = len(body)
            if name.endswith("@"):
                entry.type, entry.linkname, entry.size = tarfile.SYMTYPE, "/etc/passwd", 0
            tar.addfile(entry, io.BytesIO(body))
    return path


def named(*members: tuple[str, bytes]) -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w:gz") as tar:
        for name, body in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(body)
            tar.addfile(entry, io.BytesIO(body))
    return sink.getvalue()


def a_build(body: bytes) -> AgentBuild:
    return AgentBuild(
        platform=own_platform(),
        url="http://mirror.example/agent.tar.gz",
        sha256=hashlib.sha256(body).hexdigest(),
        size_bytes=len(body),
        signature="",
    )


def served(*answers: httpx.Response) -> httpx.MockTransport:
    left = list(answers)
    return httpx.MockTransport(lambda _: left.pop(0))


def test_the_bytes_that_were_published_are_written(tmp_path: Path) -> None:
    fetch(a_build(b"agent"), tmp_path / "part", transport=served(httpx.Response(200, content=b"agent")))
    assert (tmp_path / "part").read_bytes() == b"agent"


@pytest.mark.parametrize(
    ("body", "words"), [(b"agenT", "nothing of it was used"), (b"agent and more", "more than the 5 bytes")]
)
def test_other_bytes_are_refused_for_good(body: bytes, words: str, tmp_path: Path) -> None:
    with pytest.raises(ArchiveRefused, match=words):
        fetch(a_build(b"agent"), tmp_path / "part", transport=served(httpx.Response(200, content=body)))


def test_a_mirror_that_has_trouble_is_asked_again_later(tmp_path: Path) -> None:
    with pytest.raises(FetchFailed, match="503"):
        fetch(a_build(b"agent"), tmp_path / "part", transport=served(httpx.Response(503)))


def test_an_archive_becomes_a_directory_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    path.write_bytes(named(("agent/__init__.py", INIT), ("httpx/client.py", b"x = 1\n")))
    bundle = InstalledBundle("c" * 64, "1.1.0")
    unpack(path, bundle, tmp_path)
    assert version_in(bundle.home(tmp_path)) == "1.1.0"
    assert (bundle.home(tmp_path) / "httpx" / "client.py").read_text() == "x = 1\n"
    keep_only(tmp_path, None)
    assert [p.name for p in tmp_path.iterdir()] == ["a.tar.gz"]


@pytest.mark.parametrize("name", ["../agent/__init__.py", "/agent/__init__.py", "agent/../../x"])
def test_names_that_lead_out_of_the_folder_are_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    path.write_bytes(named((name, INIT)))
    with pytest.raises(ArchiveRefused, match="not a plain file inside it"):
        unpack(path, InstalledBundle("c" * 64, "1.1.0"), tmp_path)
    assert not InstalledBundle("c" * 64, "1.1.0").home(tmp_path).exists()


def test_links_other_versions_and_broken_archives_are_refused(tmp_path: Path) -> None:
    bundle = InstalledBundle("c" * 64, "1.1.0")
    with pytest.raises(ArchiveRefused, match="not a plain file"):
        unpack(archive(tmp_path, **{"agent/__init__.py": INIT, "link@": b""}), bundle, tmp_path)
    path = tmp_path / "other.tar.gz"
    path.write_bytes(named(("agent/__init__.py", b'__version__ = "9"\n')))
    with pytest.raises(ArchiveRefused, match="holds agent 9"):
        unpack(path, bundle, tmp_path)
    path.write_bytes(b"no archive at all")
    with pytest.raises(ArchiveRefused, match="cannot be unpacked"):
        unpack(path, bundle, tmp_path)
    assert not bundle.home(tmp_path).exists()


def test_a_build_of_this_platform_is_taken_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    path.write_bytes(b"agent")
    order = Signer().order(path, "1.1.0", "http://mirror.example/a")
    assert build_for(order, own_platform()) == order.builds[0]
    with pytest.raises(ArchiveRefused, match="no build for cp39-riscv64"):
        build_for(order, "cp39-riscv64")


def test_a_signature_is_of_this_version_platform_and_content(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    path.write_bytes(b"agent")
    signer = Signer()
    order = signer.order(path, "1.1.0", "http://mirror.example/a")
    build = order.builds[0]
    for changed in ({"sha256": "0" * 64}, {"platform": "cp39-riscv64"}, {"signature": "bm90IG9uZQ=="}):
        with pytest.raises(ArchiveRefused, match="is not one by the server's key"):
            check_signature(order, build.model_copy(update=changed), tmp_path / "b")
    with pytest.raises(ArchiveRefused, match="is not one by the server's key"):
        check_signature(order.model_copy(update={"version": "1.2.0"}), build, tmp_path / "b")
    assert not (tmp_path / "b").exists(), "a key that signed nothing is not remembered"
    check_signature(order, build, tmp_path / "b")
    with pytest.raises(ArchiveRefused, match="another key than the one this VM knows"):
        check_signature(Signer().order(path, "1.1.0", build.url), build, tmp_path / "b")
