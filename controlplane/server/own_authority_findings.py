"""For `kedge doctor`: whether CAs of the user's own can sign. Their files are read by the process that signs alone."""

from collections.abc import Iterator
from datetime import datetime

from controlplane.converger.conditions.own_authorities import ENDING
from controlplane.storage.certificates.own_authorities import OwnAuthorities, OwnAuthorityUnusable
from providers.finding import Finding


def own_authority_findings(own: OwnAuthorities, *, now: datetime) -> Iterator[Finding]:
    """One for each CA that settings name; what is wrong of a cluster that uses one is its condition's."""
    for name in sorted(own.directories):
        what = f"CA of your own: {name}"
        try:
            until = own.wanted(name).until
        except OwnAuthorityUnusable as unusable:
            then = "Put that right on the server's machine: until then it signs nothing."
            yield Finding(what, False, str(unusable), then)
            continue
        if until - now <= ENDING:
            then = "Put a renewed one beside it, then: kedge replace-ca CLUSTER, for each cluster that has it."
            yield Finding(what, None, f"it ends on {until.date()}, and all it signs with it", then)
        else:
            yield Finding(what, True, f"it can sign, until {until.date()}")
