"""Debian's packages of an image: which they are, by the digests that apt held them to, and how a lock pins them."""

import re
from collections.abc import Iterable, Sequence
from typing import Self

from debian.deb822 import Deb822
from pydantic import BaseModel, ConfigDict

from controlplane.server.machine_images.refusal import ImageRefused

_MOST_NAMED = 5
_USED = re.compile(r"(\S+) \(= ([^)]+)\)")
"""A member of the field `Built-Using` (Debian's policy, 7.8)."""


class DebianPackage(BaseModel):
    """One that is installed. `sha256`: of its .deb, from the index that Debian signed. `source`: what it is built from,
    under whose name vulnerabilities are told."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    version: str
    architecture: str
    sha256: str
    source: str
    source_version: str
    built_using: tuple[str, ...] = ()
    """Other sources whose code it has in it, as `NAME@VERSION`: a signed kernel is built of `linux`."""

    @classmethod
    def of(cls, told: Deb822) -> Self:
        """From a paragraph of apt's index."""
        source, _, source_version = told.get("Source", told["Package"]).partition(" ")
        return cls(
            name=told["Package"],
            version=told["Version"],
            architecture=told["Architecture"],
            sha256=told["SHA256"],
            source=source,
            source_version=source_version.strip("()") or told["Version"],
            built_using=tuple(f"{name}@{version}" for name, version in _USED.findall(told.get("Built-Using", ""))),
        )


def packages_in(shown: str) -> tuple[DebianPackage, ...]:
    """The packages that `apt-cache show` told, each once, sorted. Raises `ImageRefused`."""
    try:
        found = {DebianPackage.of(told) for told in Deb822.iter_paragraphs(shown, use_apt_pkg=False)}
    except KeyError as error:
        raise ImageRefused(
            f"apt's index does not tell {error} of a package", next_step="give a whole mirror of Debian 12: `--mirror`"
        ) from None
    return tuple(sorted(found, key=lambda one: (one.name, one.architecture)))


def preferences(locked: Iterable[DebianPackage]) -> str:
    """A file of apt's preferences that pins them, downwards too (apt_preferences(5): 1000 or more)."""
    return "\n".join(f"Package: {one.name}\nPin: version {one.version}\nPin-Priority: 1001\n" for one in locked)


def hold_to(lock: Sequence[DebianPackage], built: Sequence[DebianPackage]) -> None:
    """Raises `ImageRefused` where what was installed is not what the lock names, digests included."""
    wanted, found = {one.name: one for one in lock}, {one.name: one for one in built}
    other = [
        f"{name} {_version(found.get(name))} for {_version(wanted.get(name))}"
        for name in sorted(wanted.keys() | found.keys())
        if wanted.get(name) != found.get(name)
    ]
    if other:
        more = f" and {len(other) - _MOST_NAMED} more" if len(other) > _MOST_NAMED else ""
        raise ImageRefused(
            f"the mirror gave other packages than the lock names: {', '.join(other[:_MOST_NAMED])}{more}",
            next_step="name a mirror that keeps those of the lock, as a snapshot of Debian's (`--mirror`), or build "
            "without `--lock`",
        )


def _version(one: DebianPackage | None) -> str:
    return f"{one.version} ({one.sha256[:12]})" if one else "nothing"
