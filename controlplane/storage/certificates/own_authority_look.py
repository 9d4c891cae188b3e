"""What the files of a CA of the user's own are, at one look, held against the one that nodes or users believe now."""

from dataclasses import dataclass
from datetime import datetime

from cryptography import x509

from controlplane.storage.certificates.cluster_authority import ClusterAuthority
from controlplane.storage.certificates.own_authorities import OwnAuthorities, OwnAuthorityUnusable


@dataclass(frozen=True, slots=True)
class OwnAuthoritySeen:
    """`name` as specs have it. `problem`: why its directory has none to sign with from now on, "" where it has one.
    `is_other`: that one is another than what signs now (another key, or the same key certified anew), and ends at
    `next_until`. Of the one that signs now, where it is the user's own: `signs`, whether its key is at hand, and its
    life, `since` to `until` (the first end in its chain); None where Kedge's own signs."""

    name: str
    problem: str = ""
    is_other: bool = False
    next_until: datetime | None = None
    signs: bool = True
    since: datetime | None = None
    until: datetime | None = None


def look_at(own: OwnAuthorities, name: str, signer: str, *, is_own: bool) -> OwnAuthoritySeen:
    """Reads the files. `signer`: the CA that signs now (its chain, PEM); `is_own`: it is the user's."""
    wanted, problem = None, ""
    try:
        wanted = own.wanted(name)
    except OwnAuthorityUnusable as unusable:
        problem = str(unusable)
    since = until = None
    if is_own:
        chain = x509.load_pem_x509_certificates(signer.encode())
        since = max(one.not_valid_before_utc for one in chain)
        until = min(one.not_valid_after_utc for one in chain)
    return OwnAuthoritySeen(
        name,
        problem,
        is_other=wanted is not None and not _is_same(wanted, signer),
        next_until=wanted.until if wanted is not None else None,
        signs=not is_own or own.of(signer) is not None,
        since=since,
        until=until,
    )


def _is_same(authority: ClusterAuthority, chain: str) -> bool:
    return x509.load_pem_x509_certificates(authority.pem.encode()) == x509.load_pem_x509_certificates(chain.encode())
