"""Holds an SBOM to what is known to be vulnerable. What nobody knows is told, and is not safe."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from controlplane.server.machine_images.advisories import Advisory, AdvisorySeverity
from controlplane.server.machine_images.sbom_reader import Component

_MOST_NAMED = 4
_GRAVITY = tuple(AdvisorySeverity)
"""Unknown gravity stands above all: it may be the worst."""


@dataclass(frozen=True, slots=True)
class Vulnerable:
    """A part of an image that is affected. `fixed`: the first version that is not, "" where there is none yet."""

    package: str
    installed: str
    fixed: str
    severity: AdvisorySeverity
    id: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """A part of which cannot be told whether it is affected, and why not."""

    package: str
    installed: str
    why: str


@dataclass(frozen=True, slots=True)
class Flag:
    """What to publish a revision with: the fields `security` and `reason` of `kedge images publish`."""

    security: str
    reason: str


@dataclass(frozen=True, slots=True)
class Scan:
    """What an SBOM was found to be. `clear`: parts that a source knows, and that nothing it tells affects."""

    vulnerable: tuple[Vulnerable, ...]
    unknown: tuple[Unknown, ...]
    clear: int


def scan(components: Iterable[Component], advisories: Iterable[Advisory]) -> Scan:
    """Pure. Parts that no source knows are unknown, also where the source is of their ecosystem: a name it does not
    have may be another name of what it has."""
    by_package: dict[tuple[str, str], list[Advisory]] = defaultdict(list)
    for one in advisories:
        by_package[one.ecosystem, one.package].append(one)
    found: set[Vulnerable] = set()
    unknown: set[Unknown] = set()
    clear = 0
    for part in components:
        affected, doubts = _judged(part, by_package)
        found |= affected
        unknown |= doubts
        clear += not affected and not doubts
    ordered = sorted(found, key=lambda one: (-_GRAVITY.index(one.severity), one.id, one.package))
    return Scan(tuple(ordered), tuple(sorted(unknown, key=lambda one: (one.package, one.why))), clear)


def _judged(part: Component, by_package: dict[tuple[str, str], list[Advisory]]) -> tuple[set[Vulnerable], set[Unknown]]:
    found: set[Vulnerable] = set()
    doubts: set[Unknown] = set()
    known = [
        (advisory, version) for eco, name, version in part.known_as for advisory in by_package.get((eco, name), ())
    ]
    if not known:
        names = ", ".join(sorted({name for _, name, _ in part.known_as}))
        why = f"no source tells of {names}" if names else "no source could know it by its name"
        return found, {Unknown(part.name, part.version, why)}
    for advisory, version in known:
        try:
            told = advisory.affects(version)
        except ValueError as error:
            doubts.add(Unknown(part.name, part.version, f"{advisory.id}: {error}"))
            continue
        if told is not None:
            found.add(Vulnerable(part.name, part.version, told.fixed, advisory.severity, advisory.id))
    return found, doubts


def at_least(found: Iterable[Vulnerable], least: AdvisorySeverity) -> tuple[Vulnerable, ...]:
    """Those of that gravity or graver; those of unknown gravity are among them."""
    return tuple(one for one in found if _GRAVITY.index(one.severity) >= _GRAVITY.index(least))


def rid_of(before: Scan, now: Scan) -> tuple[Vulnerable, ...]:
    """What affected the image before and does not affect this one. What this one leaves unknown is not gone."""
    still = {(one.package, one.id) for one in now.vulnerable}
    doubtful = {one.package for one in now.unknown}
    return tuple(one for one in before.vulnerable if (one.package, one.id) not in still and one.package not in doubtful)


def flag_of(rid_of: Sequence[Vulnerable]) -> Flag | None:
    """How to flag a revision that is rid of these: by the worst. None where there is none that counts. Of unknown
    gravity counts as high: the roll is made, and not past windows."""
    counted = [one for one in rid_of if one.severity is not AdvisorySeverity.UNIMPORTANT]
    if not counted:
        return None
    levels = {AdvisorySeverity.CRITICAL: 2, AdvisorySeverity.HIGH: 1, AdvisorySeverity.UNKNOWN: 1}
    level = max(levels.get(one.severity, 0) for one in counted)
    worst = sorted(counted, key=lambda one: -levels.get(one.severity, 0))
    ids = list(dict.fromkeys(one.id for one in worst))
    more = f" and {len(ids) - _MOST_NAMED} more" if len(ids) > _MOST_NAMED else ""
    return Flag(("low", "high", "critical")[level], ", ".join(ids[:_MOST_NAMED]) + more)
