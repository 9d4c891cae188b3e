"""The agent for another processor: real pip takes wheels of that processor alone, by the hashes of the lock."""

import hashlib
import platform
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from controlplane.server.agent_bundle import PROCESSORS, BundleRefused, processor_named, read_bundle, write_bundle
from controlplane.server.agent_wheels import WheelsMissing, fetch_wheels, lock_file, locked

ELF_MACHINES = {"x86_64": 62, "aarch64": 183}
"""`e_machine` of ELF's header (elf.h)."""


def a_wheel(index: Path, tag: str, *, body: bytes = b"\x7fELF") -> str:
    """Puts a wheel into the index; its line for a lock file."""
    name, info = f"odd-1.0-{tag}.whl", "odd-1.0.dist-info"
    index.mkdir(exist_ok=True)
    with zipfile.ZipFile(index / name, "w") as wheel:
        wheel.writestr("odd/core.so", body)
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tag}\n")
        wheel.writestr(f"{info}/RECORD", "")
    return f"--hash=sha256:{hashlib.sha256((index / name).read_bytes()).hexdigest()}"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    return tmp_path / "index"


def test_pip_takes_the_wheel_of_that_processor_and_no_other(index: Path, tmp_path: Path) -> None:
    hashes = [a_wheel(index, f"cp311-cp311-manylinux_2_28_{one}", body=one.encode()) for one in PROCESSORS]
    for processor in PROCESSORS:
        lines = "odd==1.0 \\\n" + " \\\n".join(f"    {one}" for one in hashes) + "\n"
        fetch_wheels(lines, tmp_path / processor, processor=processor, python="3.11")
        assert (tmp_path / processor / "odd" / "core.so").read_text() == processor


def test_other_bytes_than_those_of_the_lock_are_refused(index: Path, tmp_path: Path) -> None:
    a_wheel(index, "cp311-cp311-manylinux_2_28_aarch64")
    lines = f"odd==1.0 \\\n    --hash=sha256:{'0' * 64}\n"
    with pytest.raises(WheelsMissing, match="DO NOT MATCH THE HASHES"):
        fetch_wheels(lines, tmp_path / "there", processor="aarch64", python="3.11")


def test_a_package_without_a_wheel_for_that_processor_is_named(index: Path, tmp_path: Path) -> None:
    told = a_wheel(index, "cp311-cp311-manylinux_2_28_x86_64")
    with pytest.raises(WheelsMissing, match=r"No matching distribution found for odd==1\.0"):
        fetch_wheels(f"odd==1.0 \\\n    {told}\n", tmp_path / "there", processor="aarch64", python="3.11")


def test_where_there_is_no_pip_it_is_said_how_to_get_it(tmp_path: Path) -> None:
    def without(command: list[str]) -> "subprocess.CompletedProcess[str]":
        return subprocess.CompletedProcess(command, 1, "", "/usr/bin/python3: No module named pip")

    with pytest.raises(WheelsMissing, match="-m ensurepip"):
        fetch_wheels("", tmp_path / "there", processor="aarch64", python="3.11", run=without)


def test_the_lines_of_a_lock_are_found_by_any_spelling_with_all_their_hashes() -> None:
    lock = (
        "alpha-one==1.2 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n    # via kedge\n"
        "beta==2.0 ; sys_platform != 'win32' \\\n    --hash=sha256:cc\n"
    )
    assert locked(["Alpha_One"], lock) == "alpha-one==1.2 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n"
    assert locked(["beta"], lock) == "beta==2.0 \\\n    --hash=sha256:cc\n"
    with pytest.raises(WheelsMissing, match="does not name gamma"):
        locked(["beta", "gamma"], lock)


def test_a_bundle_for_another_processor_says_so_in_its_name_and_inside(tmp_path: Path) -> None:
    asked: list[str] = []

    def fetch(requirements: str, folder: Path) -> None:
        asked.append(requirements)
        (folder / "bin").mkdir(parents=True)
        (folder / "bin" / "httpx").write_text("#!/here/python")
        (folder / "cryptography").mkdir()
        (folder / "cryptography" / "core.so").write_bytes(b"\x7fELF")

    other = next(one for one in PROCESSORS if one != platform.machine())
    made = write_bundle(tmp_path, other, fetch=fetch)
    assert made.path.name.endswith(f"-{other}.tar.gz")
    assert read_bundle(made.path).platform.endswith(f"-{other}")
    with tarfile.open(made.path) as tar:
        names = tar.getnames()
        mark = tar.extractfile("agent/BUILT_FOR")
        assert mark is not None
        assert mark.read().decode().strip() == read_bundle(made.path).platform
    assert {"agent/__main__.py", "cryptography/core.so"} <= set(names)
    assert not any(name.startswith("bin/") for name in names)
    (requirements,) = asked
    assert {"cryptography", "confluent-kafka", "pydantic-core", "cffi", "h11"} <= {
        line.partition("==")[0] for line in requirements.splitlines() if "==" in line
    }


def test_one_file_called_by_anothers_name_is_not_read_as_that(tmp_path: Path) -> None:
    made = write_bundle(tmp_path, "aarch64", fetch=lambda _, folder: folder.mkdir())
    renamed = made.path.with_name(made.path.name.replace("aarch64", "x86_64"))
    made.path.rename(renamed)
    with pytest.raises(BundleRefused, match=r"its name says it is for cp3\d+-x86_64, it was built for cp3\d+-aarch64"):
        read_bundle(renamed)


def test_a_processor_no_cloud_sells_is_refused_and_others_words_are_understood(tmp_path: Path) -> None:
    assert (processor_named("arm64"), processor_named("amd64")) == ("aarch64", "x86_64")
    with pytest.raises(BundleRefused, match="no VM has the processor 'riscv64'"):
        write_bundle(tmp_path, "riscv64")


@pytest.mark.soak
def test_the_agent_for_the_other_processor_comes_whole_from_the_index(tmp_path: Path) -> None:
    """Real pip, the real lock, the index pip is set up with: every library in it is of that processor."""
    other = next(one for one in PROCESSORS if one != platform.machine())
    made = write_bundle(tmp_path, other)
    with tarfile.open(made.path) as tar:
        libraries = [m for m in tar if m.isfile() and (m.name.endswith(".so") or ".so." in m.name)]
        heads = {m.name: source.read(20) for m in libraries if (source := tar.extractfile(m)) is not None}
    assert len(heads) > 10
    assert {int.from_bytes(head[18:20], "little") for head in heads.values()} == {ELF_MACHINES[other]}


def test_the_lock_of_a_checkout_is_found() -> None:
    assert "cryptography==" in lock_file().read_text()
