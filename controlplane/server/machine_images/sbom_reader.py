"""Reads SBOMs, ours or of other writers, as far as a scan needs them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packageurl import PackageURL

from controlplane.server.machine_images.refusal import ImageRefused
from controlplane.server.machine_images.release import DISTRO, ECOSYSTEM

BUILT_USING = "kedge:built-using"
"""The property of a component that names a source package whose code it has in it, as `NAME@VERSION`."""
_MAKE = "give an image that `kedge images build` made, or its SBOM: NAME.cdx.json"


@dataclass(frozen=True, slots=True)
class Component:
    """A part of an image: as people call it, and as sources of vulnerabilities do (ecosystem, name, version)."""

    name: str
    version: str
    known_as: tuple[tuple[str, str, str], ...]
    """Empty where no source of vulnerabilities could know it."""


def sbom_beside(path: Path) -> Path:
    """The SBOM of an image, or the path itself where it is one. Raises `ImageRefused`."""
    if path.name.endswith(".json") and not path.name.endswith(".manifest.json"):
        return path
    name = path.name.removesuffix(".manifest.json") if path.suffix == ".json" else path.stem
    beside = path.with_name(f"{name}.cdx.json")
    if not beside.is_file():
        raise ImageRefused(f"{path} has no SBOM beside it ({beside.name})", next_step=_MAKE)
    return beside


def read_sbom(path: Path) -> tuple[Component, ...]:
    """Its parts, sorted. Raises `ImageRefused`."""
    try:
        told = json.loads(path.read_bytes())
        if told.get("bomFormat") != "CycloneDX":
            raise ValueError("it is not CycloneDX")
        found = {_component(one) for one in told.get("components", ())}
    except OSError as error:
        raise ImageRefused(f"{path} cannot be read: {error.strerror}", next_step=_MAKE) from None
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise ImageRefused(f"{path} is no SBOM: {error}", next_step=_MAKE) from None
    if not found:
        raise ImageRefused(f"{path} names no component: there is nothing to judge", next_step=_MAKE)
    return tuple(sorted(found, key=lambda one: (one.name, one.version)))


def _component(told: dict[str, Any]) -> Component:
    name, version = told["name"], told.get("version", "")
    if "purl" not in told:
        return Component(name, version, ())
    purl = PackageURL.from_string(told["purl"])
    if purl.type == "deb":
        return Component(name, version, (*_sources(purl), *_built_using(told)))
    if purl.type == "maven":
        return Component(name, version, (("Maven", f"{purl.namespace}:{purl.name}", version),))
    if purl.type == "pypi":
        return Component(name, version, (("PyPI", purl.name, version),))
    return Component(name, version, ())


def _sources(purl: PackageURL) -> tuple[tuple[str, str, str], ...]:
    if not isinstance(purl.qualifiers, dict) or str(purl.qualifiers.get("distro", DISTRO)).partition(".")[0] != DISTRO:
        return ()
    source, _, version = str(purl.qualifiers.get("upstream") or purl.name).partition("@")
    return ((ECOSYSTEM, source, version or str(purl.version)),)


def _built_using(told: dict[str, Any]) -> tuple[tuple[str, str, str], ...]:
    named = [one["value"].partition("@") for one in told.get("properties", ()) if one["name"] == BUILT_USING]
    return tuple((ECOSYSTEM, source, version) for source, _, version in named)
