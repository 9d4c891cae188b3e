"""Whom an OpenPGP signature makes of the author a commit names: gpg's list of keys is text, git's verdict a letter."""

import pytest

from controlplane.background.git_sync.child import GitAnswer
from controlplane.background.git_sync.openpgp import PgpKey, judged_pgp, keys_in
from controlplane.background.git_sync.signing import BAD, UNKNOWN_KEY

ADA, BOB = "A" * 40, "B" * 40
KEYS = (PgpKey(ADA, ("ada@example.org",)), PgpKey(BOB, ("bob@example.org",), "has expired"))

# As gpg 2.2 wrote it, fingerprints shortened; the fields are those of GnuPG's doc/DETAILS.
TOLD = """\
tru:t:0:0:0:0:0:0
pub:-:255:22:E6719996F3921DEB:1795402572:::-:::scSC:::::ed25519:::0:
fpr:::::::::0A2F1F1A:
uid:-::::1795402572::4ADC::Ada (at work\\x3a days) <Ada@Example.org>::::::::::0:
uid:r::::::504B::Ada <ada@old.example.org>::::::::::0:
uid:-::::1795402572::4ADD::ada@second.example.org::::::::::0:
uid:-::::1795402572::4ADE::nobody <two@x> in particular::::::::::0:
sub:-:255:18:C9B74FE6D82B1B0B:1795402572::::::e:::::cv25519::
fpr:::::::::5B5B5B5B:
pub:e:255:22:AAAA:1577836800:1609459200::-:::sc:::::ed25519:::0:
fpr:::::::::BBBB:
uid:e::::1577836800::9AAA::Bob <bob@example.org>::::::::::0:
pub:r:255:22:CCCC:1577836800:::-:::sc:::::ed25519:::0:
fpr:::::::::DDDD:
"""


def told(grade: str, key: str = ADA, address: str = "ada@example.org", code: int = 0) -> GitAnswer:
    return GitAnswer(code, f"{grade}\0{key}\0{address}\n".encode(), "fatal: no such commit" if code else "")


def test_a_list_is_read_with_the_addresses_that_still_count() -> None:
    assert keys_in(TOLD) == (
        PgpKey("0A2F1F1A", ("ada@example.org", "ada@second.example.org")),
        PgpKey("BBBB", (), "has expired"),
        PgpKey("DDDD", (), "is revoked"),
    )
    assert keys_in("tru:t:0\n") == ()


def test_a_listed_key_of_the_author_signs_however_the_address_is_written() -> None:
    assert judged_pgp(told("G"), KEYS).by == ADA
    assert judged_pgp(told("G", address="Ada@Example.ORG"), KEYS).by == ADA


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (told("B"), BAD),
        (told("E", ""), UNKNOWN_KEY),
        (told("G", "C" * 40), UNKNOWN_KEY),
        (told("U"), "gpg does not vouch for it (U)"),
        (told("X"), "its signature has expired"),
        (told("Y"), "it is signed with a key of ada@example.org that has expired"),
        (told("R"), "it is signed with a key of ada@example.org that is revoked"),
        (told("G", BOB, "bob@example.org"), "it is signed with a key of bob@example.org that has expired"),
        (told("G", ADA, "bob@example.org"), "it is signed with the key of ada@example.org, and names another author"),
        (told("", code=128), "git cannot check its signature: fatal: no such commit"),
        (told("N"), "git cannot check its signature: git ended with code 0"),
    ],
)
def test_everything_else_leaves_the_author_claimed_with_the_reason(answer: GitAnswer, says: str) -> None:
    verdict = judged_pgp(answer, KEYS)
    assert (verdict.by, verdict.why_not) == ("", says)
