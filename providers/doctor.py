"""Is a cloud ready for us? One finding a line: settings, credentials and account, regions, images, quota."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import yaml

from providers import agent_finding, base, errors, networks, traces
from providers.finding import Finding
from providers.reach import Reach, in_words, of_listing, reached
from providers.tf.mirror import MirrorRefused, ProviderMirror, own_platform
from providers.tf.modules import pinned_providers


@runtime_checkable
class ExaminesPlaces(Protocol):
    """Knows more to look at in an account and region: what the settings name there, and what may still be made."""

    def examine(self, place: base.Place) -> Iterator[Finding]:
        """Asks the cloud; changes nothing. Raises `ProviderError`, which becomes a finding."""


@dataclass(frozen=True, slots=True)
class Mirrored:
    """That Terraform's providers come from a mirror alone, and where the modules are that say which."""

    mirror: ProviderMirror
    modules: Path


def examine(
    cloud: str,
    settings_file: Path | None,
    load: Callable[[], base.CloudProvider],
    *,
    mirrored: Mirrored | None = None,
    reach: Reach | None = None,
) -> Iterator[Finding]:
    """All there is to say of a cloud, in the order it is to be mended. What cannot be asked hides what is behind it.

    `settings_file` is None for a cloud without accounts, `mirrored` where a registry may be asked for providers,
    `reach` where brokers that run are not to be tried.
    """
    try:
        provider = load()
    except errors.ProviderError as error:
        yield Finding("settings", False, str(error), error.what_next)
        return
    if settings_file is None:
        yield Finding("settings", True, f"{cloud} needs no account")
        return
    places = places_in(cloud, settings_file)
    accounts = sorted({p.account for p in places})
    yield Finding("settings", True, f"{settings_file}: accounts {', '.join(accounts)}, {len(places)} regions")
    agents = agent_finding.of_agents(cloud, yaml.safe_load(settings_file.read_text()), places)
    if agents is not None:
        yield Finding("agents", *agents)
    if mirrored is not None:
        yield _of_mirror(mirrored.mirror, mirrored.modules / cloud, _plugins(settings_file))
    for place in places:
        yield from _of_place(provider, place, reach)


def places_in(cloud: str, settings_file: Path) -> tuple[base.Place, ...]:
    """Every account and region the file names; it was read by its cloud before, so it makes sense."""
    told = yaml.safe_load(settings_file.read_text())
    accounts: Mapping[str, Mapping[str, object]] = told["accounts"]
    named = ((account, region) for account, about in accounts.items() for region in _regions(about))
    return tuple(base.Place(cloud, region, account) for account, region in sorted(named))


def _regions(about: Mapping[str, object]) -> list[str]:
    regions = about.get("regions")
    return [str(name) for name in regions] if isinstance(regions, Mapping) else []


def _of_mirror(mirror: ProviderMirror, module: Path, plugins: str) -> Finding:
    what, wanted = "Terraform's provider", ", ".join(map(str, pinned_providers(module)))
    try:
        mirror.refuse_unusable()
    except MirrorRefused as refused:
        return Finding(what, False, str(refused), "no server starts with it")
    lacks = mirror.lacking(module, plugins)
    if lacks is None:
        return Finding(what, None, f"{wanted} comes from {mirror.place} alone", "it is asked at the first run")
    if lacks:
        return Finding(what, False, mirror.lacking_text(lacks), mirror.how_to_add(module))
    return Finding(what, True, f"{wanted} for {own_platform()} is in the mirror {mirror.place}, or in `plugins`")


def _reached(place: base.Place, reach: Reach, listing: base.Listing) -> Iterator[Finding]:
    endpoints = reach.known(place) if reach.known is not None else of_listing(listing.instances)
    for found in reached(endpoints, reach.knock):
        well, told, what_next = in_words(found)
        yield Finding(f"{place}: brokers of {found.cluster} from here", well, told, what_next)


def _plugins(settings_file: Path) -> str:
    """As CloudSettings has it."""
    return str(yaml.safe_load(settings_file.read_text()).get("plugins") or "")


def _of_place(provider: base.CloudProvider, place: base.Place, reach: Reach | None) -> Iterator[Finding]:
    try:
        listing = provider.list_place(place)
        others = provider.foreign_vms(place) if isinstance(provider, traces.SeesForeignVms) else {}
    except errors.ProviderError as error:
        yield Finding(f"{place}: credentials", False, str(error), error.what_next)
        return
    if others:
        told = ", ".join(f"{count} of {name}" for name, count in others.items())
        yield Finding(f"{place}: other installations", True, f"VMs of other installations of Kedge, left alone: {told}")
    if listing.instances:
        whose = Counter((i.cluster_name, i.cluster_uid) for i in listing.instances)
        told = ", ".join(f"{count} of {name or 'a cluster'} ({uid})" for (name, uid), count in sorted(whose.items()))
        told = f"VMs by their tags: {told}; `kedge loop` tells which the server lacks"
        yield Finding(f"{place}: clusters", True, told)
    if reach is not None:
        yield from _reached(place, reach, listing)
    if isinstance(provider, networks.MakesNetworks) and provider.makes_network(place):
        told = f"its network is Kedge's to make; {len(listing.instances)} VMs of this installation"
        yield Finding(f"{place}: credentials", True, told)
        what_next = "`kedge networks` lists them, and how many more the pool has room for"
        yield Finding(f"{place}: network", None, "which there are is known to the server", what_next)
        return
    zones = ", ".join(provider.zones(place.region))
    yield Finding(
        f"{place}: credentials", True, f"they are of this account; {len(listing.instances)} VMs of this installation"
    )
    yield Finding(f"{place}: zones", True, zones)
    if not isinstance(provider, ExaminesPlaces):
        yield Finding(f"{place}: images and quota", None, f"nothing here asks {provider.name} for them")
        return
    try:
        yield from provider.examine(place)
    except errors.ProviderError as error:
        yield Finding(f"{place}: settings", False, str(error), error.what_next)
