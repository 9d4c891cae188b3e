"""Whom a signature makes of the author a commit names. The list is text, git's verdict a letter."""

import base64
import hashlib
from datetime import UTC, datetime

import pytest

from controlplane.background.git_sync.signing import BAD, UNKNOWN_KEY, judged, kind_of, signers_in

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def key(name: str) -> tuple[str, str]:
    """A key as a list has it, and its fingerprint."""
    blob = base64.b64encode(name.encode()).decode()
    digest = base64.b64encode(hashlib.sha256(name.encode()).digest()).decode().rstrip("=")
    return f"ssh-ed25519 {blob}", f"SHA256:{digest}"


ADA, ADAS = key("ada")
BOB, BOBS = key("bob")


def test_a_listed_key_of_the_author_signs() -> None:
    signers = signers_in(f'# people\n\nada@example.org {ADA} laptop\n*@ops.example.org namespaces="git" {BOB}\n')
    assert judged("G", ADAS, "ada@example.org", signers, now=NOW).by == ADAS
    assert judged("G", BOBS, "bob@ops.example.org", signers, now=NOW).by == BOBS


def test_an_unknown_key_and_a_forged_signature_leave_the_author_claimed() -> None:
    signers = signers_in(f"ada@example.org {ADA}")
    assert judged("U", BOBS, "ada@example.org", signers, now=NOW).why_not == UNKNOWN_KEY
    assert judged("B", ADAS, "ada@example.org", signers, now=NOW).why_not == BAD
    assert judged("", "", "ada@example.org", (), now=NOW).why_not == BAD


def test_nobody_signs_for_somebody_else() -> None:
    signers = signers_in(f"bob@example.org {BOB}\nada@example.org {ADA}")
    told = judged("G", BOBS, "ada@example.org", signers, now=NOW)
    assert (told.by, told.why_not) == ("", "it is signed with the key of bob@example.org, and names another author")


def test_a_key_counts_between_its_dates_as_of_now_whatever_the_commit_says() -> None:
    over = signers_in(f'ada@example.org valid-before="20260101Z" {ADA}')
    to_come = signers_in(f'ada@example.org valid-after="20270101000000Z" {ADA}')
    within = signers_in(f'ada@example.org valid-after="202501010000Z",valid-before="20270101Z" {ADA}')
    for signers in (over, to_come):
        told = judged("G", ADAS, "ada@example.org", signers, now=NOW)
        assert told.by == ""
        assert "time is over" in told.why_not
    assert judged("G", ADAS, "ada@example.org", within, now=NOW).by == ADAS
    assert judged("U", ADAS, "ada@example.org", within, now=NOW).by == ""


def test_a_pattern_that_is_taken_out_does_not_speak_for_the_address() -> None:
    signers = signers_in(f"*@example.org,!root@example.org {ADA}")
    assert judged("G", ADAS, "eve@example.org", signers, now=NOW).by == ADAS
    assert judged("G", ADAS, "root@example.org", signers, now=NOW).by == ""
    assert judged("G", ADAS, "eve@exampleXorg", signers, now=NOW).by == ""


def test_certificate_authorities_list_no_key() -> None:
    assert signers_in(f"*@example.org cert-authority {ADA}") == ()


@pytest.mark.parametrize(
    "line",
    [
        "ada@example.org",
        f"ada@example.org nonsense {ADA[:11]}",
        "ada@x ssh-ed25519 !!",
        f'a@x valid-before="soon" {ADA}',
    ],
)
def test_a_line_that_makes_no_sense_is_named(line: str) -> None:
    with pytest.raises(ValueError, match="line 2"):
        signers_in(f"# people\n{line}\n")


def test_the_head_of_a_commit_tells_what_signed_it() -> None:
    assert kind_of(b"tree 1\ngpgsig -----BEGIN SSH SIGNATURE-----\n abc\n\nwords") == "ssh"
    assert kind_of(b"tree 1\ngpgsig -----BEGIN PGP SIGNATURE-----\n abc\n\nwords") == "pgp"
    assert kind_of(b"tree 1\ngpgsig -----BEGIN SIGNED MESSAGE-----\n abc\n\nwords") == "other"
    assert kind_of(b"tree 1\n\ngpgsig -----BEGIN SSH SIGNATURE-----\n") == ""
