"""The clouds of this installation, by name, each built when a spec first names it."""

import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from controlplane.api.placement_offers import PlaceOffer, PlacesOffered
from controlplane.cluster.places import place_of, places_of
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.instances import InstanceView
from controlplane.fleet.networks.server_addresses import server_network
from controlplane.server.settings import Settings
from providers.added_machines import add_machines_of
from providers.base import CloudProvider, ListsRegions, Place
from providers.bootable import NextVm, TellsBootable
from providers.console_page import HasConsolePages
from providers.errors import ProviderError
from providers.networks import MadeNetworks, none_made
from providers.packet_filter import FiltersPackets
from providers.registry import load, names


class Clouds:
    """Providers of this installation. Thread-safe."""

    def __init__(self, settings: Settings, installation_id: str, *, networks: MadeNetworks = none_made) -> None:
        """`networks`: what Kedge has made, asked anew each time. Types of the home's `catalog.yaml` are sold too."""
        add_machines_of(settings.home)
        self._settings = settings
        self._networks = networks
        self._installation_id = installation_id
        self._lock = threading.Lock()
        self._built: dict[str, CloudProvider] = {}

    def __call__(self, cloud: str) -> CloudProvider:
        """The provider of a cloud. Raises PlaceUnknown for a name nobody implements."""
        with self._lock:
            if cloud not in self._built:
                self._built[cloud] = load(cloud, **self._settings_of(cloud))
            return self._built[cloud]

    def _settings_of(self, cloud: str) -> dict[str, object]:
        common: dict[str, object] = {"installation_id": self._installation_id}
        settings = self._settings
        if (file := settings_file_of(settings, cloud)) is not None:
            return {**common, "settings_file": file, "networks": self._networks}
        return {
            **common,
            "root": local_root(settings),
            "python": sys.executable,
            "kafka_dir": settings.kafka.dir,
            "enforce_disk": settings.clouds.enforce_disk,
            "network": settings.clouds.vm_network,
        }


def unbootable_in(clouds: Callable[[str], CloudProvider], place: Place, vm: NextVm) -> str:
    """See `TellsBootable`. "" of a cloud that cannot be asked: what is unknown refuses nobody."""
    try:
        provider = clouds(place.cloud)
        if not isinstance(provider, TellsBootable):
            return ""
        return provider.unbootable(place, vm)
    except ProviderError:
        return ""


def console_page_in(clouds: Callable[[str], CloudProvider], view: ClusterView, instance: InstanceView) -> str:
    """See `HasConsolePages`. "" where there is no such page, or nobody can say which it is."""
    try:
        place = place_of(view, instance)
        provider = clouds(place.cloud)
        return provider.console_page(place, instance.cloud_id) if isinstance(provider, HasConsolePages) else ""
    except (ProviderError, LookupError):
        return ""


def packet_filter_in(
    clouds: Callable[[str], CloudProvider],
    made: Callable[[Place], str],
    view: ClusterView,
    instance: InstanceView,
    declared: Sequence[str] = (),
) -> str:
    """See `FiltersPackets`. "" where nobody filters so, or it cannot be told now: the VM keeps the rules it has.

    `made`: the addresses of a network Kedge made, by CIDR. VMs of the cluster's other places are members as well.
    `declared` are the servers' addresses in the settings: a network Kedge made has on record whom it lets in, and
    servers that were found let nobody else's network change with every one that leads.
    """
    try:
        place = place_of(view, instance)
        provider = clouds(place.cloud)
        if not isinstance(provider, FiltersPackets):
            return ""
        servers = () if made(place) else tuple(server_network(one) for one in declared)
        others = [cidr for p in places_of(view) if p != place and (cidr := made(p))]
        return provider.packet_filter(place, others, servers)
    except (ProviderError, LookupError):
        return ""


def places_in(clouds: Callable[[str], CloudProvider], settings: Settings) -> PlacesOffered:
    """Every region this installation has an account in, real clouds first: `local` is for trying things."""
    named = [n for n in names() if (file := settings_file_of(settings, n)) is None or file.exists()]
    places: list[PlaceOffer] = []
    problems: list[str] = []
    for cloud in sorted(named, key=lambda name: (name == "local", name)):
        try:
            provider = clouds(cloud)
            regions = provider.regions() if isinstance(provider, ListsRegions) else ()
            places += [PlaceOffer(cloud, region, provider.zones(region)) for region in regions]
        except ProviderError as error:
            problems.append(str(error))
    return PlacesOffered(tuple(places), tuple(problems))


def settings_file_of(settings: Settings, cloud: str) -> Path | None:
    """What a person tells about their accounts with a cloud; None for `local`, which has none."""
    return None if cloud == "local" else settings.home / f"{cloud}.yaml"


def local_root(settings: Settings) -> Path:
    """Where the `local` cloud of an installation keeps its VMs and disks."""
    return settings.home / "local"
