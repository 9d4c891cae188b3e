"""Programs of a build that fail: what their words mean for a person."""

import pytest

from controlplane.server.machine_images.programs import refused, run
from controlplane.server.machine_images.refusal import ImageRefused


@pytest.mark.parametrize(
    ("said", "why", "next_step"),
    [
        ("tar: ./usr: Cannot write: No space left on device", "the disk is full", "6 GiB"),
        ("mke2fs: Could not allocate block in ext2 filesystem while populating file system", "too small", "--size-gib"),
        ("E: Unable to locate package shim-signed\nE: apt-get failed", "has no package shim-signed", "--mirror"),
        ("E: Package 'openjdk-17-jre-headless' has no installation candidate", "openjdk-17-jre-headless", "--mirror"),
        (
            "W: Failed to fetch http://m.example/x  Could not resolve 'm.example'",
            "cannot be reached: m.example",
            "proxy",
        ),
        ("Err: Could not connect to 127.0.0.1:1 (127.0.0.1). - connect (111)", "cannot be reached: 127.0.0.1", "proxy"),
        (
            "E: Failed to fetch http://m.example/a.deb  404  Not Found",
            "did not give http://m.example/a.deb",
            "--mirror",
        ),
        (
            "E: arm64 can neither be executed natively nor via qemu user emulation with binfmt_misc",
            "programs of the other architecture",
            "qemu-user-static",
        ),
        ("W: /etc/subuid doesn't exist", "may not make a root", "/etc/subuid"),
    ],
)
def test_a_failure_says_what_a_person_can_do(said: str, why: str, next_step: str) -> None:
    told = refused("mmdebstrap", said)
    assert why in str(told)
    assert next_step in told.next_step


def test_words_nobody_knows_are_passed_on_and_so_is_silence() -> None:
    assert str(refused("sfdisk", "a\nb\n\nsfdisk: bad input\n")) == "`sfdisk` failed: a / b / sfdisk: bad input"
    said = "update-alternatives: error: no man1\n" + "more\n" * 9 + "E: mmdebstrap failed to run\n"
    assert "error: no man1 / more / E: mmdebstrap failed" in str(refused("mmdebstrap", said))
    assert str(refused("sfdisk", "")) == "`sfdisk` failed: it said nothing"


def test_a_program_that_is_not_there_is_named_with_its_package() -> None:
    with pytest.raises(ImageRefused, match="`kedge-no-such-program` is not installed") as told:
        run(("kedge-no-such-program",), environment={})
    assert "apt-get install kedge-no-such-program" in told.value.next_step


def test_a_program_gets_its_input_and_environment_and_its_last_words_are_kept() -> None:
    run(
        ("sh", "-c", 'test "$(cat) $SOURCE_DATE_EPOCH" = "hello 7"'),
        environment={"SOURCE_DATE_EPOCH": "7"},
        stdin="hello",
    )
    with pytest.raises(ImageRefused, match="`sh` failed: on both"):
        run(("sh", "-c", "echo on both >&2; exit 3"), environment={})
