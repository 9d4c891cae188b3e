"""Whether a listed SSH key stands behind the author a commit names. Pure: git checks the mathematics.

What signed a commit is told here for every kind; OpenPGP is judged in `controlplane.background.git_sync.openpgp`. The
list is a file as `ssh-keygen` takes it (ALLOWED SIGNERS in ssh-keygen(1)). Git judges a key as of the date of the
commit, which is the commit's own word: here it must be valid now. A line `cert-authority` lists no key.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

_BEGINS = {"ssh": b"-----BEGIN SSH SIGNATURE-----", "pgp": b"-----BEGIN PGP SIGNATURE-----"}
_KEY_TYPES = ("ssh-", "ecdsa-", "sk-")
_MOMENT = re.compile(r"(\d{8})(\d{4}(?:\d{2})?)?(Z?)", re.ASCII)
_FIELDS = re.compile(r'(?:"[^"]*"|[^\s"])+')
_OPTION = re.compile(r'([a-z-]+)(?:="([^"]*)")?', re.ASCII | re.IGNORECASE)

NOT_SIGNED = "the commit is not signed"
OTHER_SIGNATURE = "it is signed, though with neither an SSH nor an OpenPGP key: no other signature is checked"
NO_SIGNERS = "it is signed with an SSH key, and the binding lists none (`signers_file`)"
NO_PGP_KEYS = "it is signed with an OpenPGP key, and the binding lists none (`pgp_keys_file`)"
UNKNOWN_KEY = "it is signed with a key that is not listed"
BAD = "its signature does not fit: the commit was changed after it was signed, or the signature is forged"


@dataclass(frozen=True, slots=True)
class Signature:
    """`by` is the fingerprint of the listed key that signed, "" where the author is merely claimed.

    `why_not` says why then, "" where no keys are listed at all.
    """

    by: str = ""
    why_not: str = ""


CLAIMED = Signature()


@dataclass(frozen=True, slots=True)
class Signer:
    """One line of the list: whose key it is, by patterns of addresses, and when it counts."""

    principals: tuple[str, ...]
    fingerprint: str
    after: datetime | None = None
    before: datetime | None = None

    def is_of(self, address: str) -> bool:
        """Whether the key speaks for that address. `!` before a pattern takes it out again."""
        hits = [p.startswith("!") for p in self.principals if _fits(p.removeprefix("!"), address)]
        return bool(hits) and not any(hits)


def signers_in(text: str) -> tuple[Signer, ...]:
    """The keys of a list. Raises ValueError with the line that makes no sense."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            signer = _signer(line.strip(), number)
            found += [signer] if signer is not None else []
    return tuple(found)


def kind_of(commit: bytes) -> str:
    """What a commit object is signed with, `ssh`, `pgp`, `other`, or "" where it is not: the head tells."""
    head = commit.partition(b"\n\n")[0]
    signed = [line for line in head.split(b"\n") if line.startswith((b"gpgsig ", b"gpgsig-sha256 "))]
    if not signed:
        return ""
    return next((kind for kind, begins in _BEGINS.items() if signed[0].endswith(begins)), "other")


def judged(grade: str, fingerprint: str, address: str, signers: Sequence[Signer], *, now: datetime) -> Signature:
    """What git's letter (`%G?`) for an SSH signature comes to, for the author's mail address, as of now."""
    if grade not in ("G", "U"):
        return Signature(why_not=BAD)
    listed = [signer for signer in signers if signer.fingerprint == fingerprint]
    if not listed:
        return Signature(why_not=UNKNOWN_KEY)
    if not any(signer.is_of(address) for signer in listed):
        return Signature(why_not=f"it is signed with the key of {_names(listed)}, and names another author")
    valid = [s for s in listed if s.is_of(address) and _is_valid(s, now)]
    if not valid:
        return Signature(why_not="it is signed with a key that is listed, but whose time is over or has not begun")
    if grade != "G":
        return Signature(why_not="the key was not valid at the date of the commit, or is not listed for git")
    return Signature(by=fingerprint)


def _signer(line: str, number: int) -> Signer | None:
    fields = _FIELDS.findall(line)
    options = fields[1] if len(fields) > 1 and not fields[1].startswith(_KEY_TYPES) else ""
    key = fields[2:] if options else fields[1:]
    if len(key) < 2 or not key[0].startswith(_KEY_TYPES):
        raise ValueError(f"line {number} is no `ADDRESS [OPTIONS] KEYTYPE KEY`")
    options_ = {found[1].lower(): found[2] for found in _OPTION.finditer(options)}
    if "cert-authority" in options_:
        return None
    try:
        blob = base64.b64decode(key[1], validate=True)
        after, before = _moment(options_.get("valid-after")), _moment(options_.get("valid-before"))
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"line {number}: {error}") from error
    fingerprint = base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
    return Signer(tuple(fields[0].strip('"').split(",")), f"SHA256:{fingerprint}", after, before)


def _moment(text: str | None) -> datetime | None:
    """`YYYYMMDD[HHMM[SS]][Z]`; without the Z in the time zone of this machine."""
    if text is None:
        return None
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a date, as in 20270131Z")
    moment = datetime.strptime(found[1] + (found[2] or "0000").ljust(6, "0"), "%Y%m%d%H%M%S")
    return moment.replace(tzinfo=UTC) if found[3] else moment.astimezone(UTC)


def _is_valid(signer: Signer, now: datetime) -> bool:
    return (signer.after is None or signer.after <= now) and (signer.before is None or now < signer.before)


def _fits(pattern: str, address: str) -> bool:
    """As ssh has patterns: `*` and `?`, nothing else."""
    parts = (".*" if c == "*" else "." if c == "?" else re.escape(c) for c in pattern)
    return re.fullmatch("".join(parts), address) is not None


def _names(signers: Iterable[Signer]) -> str:
    return ", ".join(dict.fromkeys(name for signer in signers for name in signer.principals))
