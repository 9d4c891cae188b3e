"""What `make demo` and `make test` install: two locks that agree, by hash, from the registries pip is set up for."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from requirements import install

ROOT = Path(__file__).parents[3]
LOCKS = ("requirements.lock", "requirements/demo.lock", "requirements/setup.lock")


def locked(name: str) -> dict[str, tuple[str, frozenset[str]]]:
    """Version and hashes of each package of a lock."""
    blocks = re.split(r"\n(?=[a-z])", (ROOT / name).read_text())
    named = [(m, block) for block in blocks if (m := re.match(r"([a-z0-9-]+)==(\S+)", block)) is not None]
    return {m[1]: (m[2], frozenset(re.findall(r"--hash=(\S+)", block))) for m, block in named}


@pytest.mark.parametrize("name", LOCKS)
def test_every_package_is_locked_by_hash_and_no_host_is_named(name: str) -> None:
    assert all(hashes for _, hashes in locked(name).values())
    assert "://" not in (ROOT / name).read_text()


def test_the_demo_runs_on_the_versions_that_the_tests_know() -> None:
    everything, demo = locked("requirements.lock"), locked("requirements/demo.lock")
    assert 40 < len(demo) < len(everything) / 2
    assert {name: everything[name] for name in demo} == demo


def test_the_demo_installs_no_cloud_and_no_test_library() -> None:
    for unneeded in (
        "boto3",
        "moto",
        "playwright",
        "google-cloud-compute",
        "deltalake",
        "matplotlib",
        "pytest",
        "mypy",
    ):
        assert unneeded in locked("requirements.lock")
        assert unneeded not in locked("requirements/demo.lock")


def test_uv_is_told_what_pip_is_set_up_for() -> None:
    told = install.as_uv_says(
        ":env:.find-links='/opt/wheels'\n"
        "global.index-url='https://mirror.example/simple'\n"
        "global.cert='/etc/ssl/ours.pem'\n"
        "global.extra-index-url='\\nhttps://a.example\\nhttps://b.example'\n"
        "global.disable-pip-version-check='1'\n"
    )
    assert told == {
        "UV_FIND_LINKS": "/opt/wheels",
        "UV_DEFAULT_INDEX": "https://mirror.example/simple",
        "SSL_CERT_FILE": "/etc/ssl/ours.pem",
        "UV_INDEX": "https://a.example https://b.example",
    }


def test_what_is_trimmed_is_remembered_until_all_is_installed(tmp_path: Path) -> None:
    site = tmp_path / "lib" / "python3.11" / "site-packages" / "pyspark"
    (site / "jars").mkdir(parents=True)
    for name in ("rocksdbjni-9.jar", "spark-core-4.jar"):
        (site / "jars" / name).touch()
    install.trim_files(tmp_path, "# why\npyspark: pyspark/jars/rocksdbjni-*\n")
    assert [path.name for path in (site / "jars").iterdir()] == ["spark-core-4.jar"]
    assert install.trimmed(tmp_path) == ["pyspark"]


def test_each_rule_of_the_demo_says_whose_files_they_are() -> None:
    rules = (ROOT / "requirements" / "demo.trim").read_text().splitlines()
    assert all(re.fullmatch(r"(#.*|([a-z]+): \2/\S+)", line) for line in rules)


def test_an_image_of_kafka_needs_no_package() -> None:
    """It is built while packages are still being installed."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); import providers.local.__main__, providers.local.image"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(ROOT)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
