"""What a cluster is told of a network of Kedge's that its VMs wait for. Pure."""

from collections.abc import Collection, Mapping

from controlplane.cluster.observed.networks import NetworkAwaited
from controlplane.fleet.networks import command_texts as commands
from controlplane.fleet.networks.decide import in_words, next_try_at, ports_in_words
from controlplane.fleet.networks.fold import NetworkState, NetworksView, NetworkView
from providers.base import Place
from providers.errors import NotPermitted
from providers.networks import NO_OVERLAY, FirewallPorts, OverlayPorts


def waits_for(
    view: NetworksView,
    place: Place,
    zones: Collection[str],
    ports: FirewallPorts,
    problems: Mapping[Place, str],
    overlay: OverlayPorts = NO_OVERLAY,
) -> NetworkAwaited | None:
    """Why no VM can be made in that place's network yet; None when nothing is in the way."""
    network, what = view.at(place), f"waits for the network {place.network} in {place}"
    if network is None:
        return NetworkAwaited(f"{what}: {problems.get(place, 'it is about to be asked for')}")
    missing, closed = sorted(set(zones) - network.zones.keys()), ports.without(network.access.ports)
    tunnels = overlay.without(network.access.overlay)
    if network.is_ready and not missing and not closed and not tunnels:
        return None
    if network.is_ready:
        lacks = [f"has nothing in {', '.join(missing)}"] if missing else []
        lacks += [f"does not let in {ports_in_words(closed)}"] if closed else []
        lacks += [f"does not let in tunnels at UDP {ports_in_words(tunnels)}"] if tunnels else []
        what += f", which {' and '.join(lacks)} yet"
    return _awaited(network, what, problems)


def shut_out(
    view: NetworksView, place: Place, others: Collection[Place], problems: Mapping[Place, str]
) -> NetworkAwaited | None:
    """Why no VM can be made for a cluster of that place and others yet, whose members its firewall does not let in;
    None when it lets all in, or is not made."""
    network, cidrs = view.at(place), view.cidrs()
    if network is None or not network.is_ready:
        return None  # told already
    closed = [p for p in others if p in cidrs and cidrs[p] not in network.access.peers]
    if not closed:
        return None
    lacks = f"does not let in members in {', '.join(sorted(map(str, closed)))} yet"
    return _awaited(network, f"waits for the network {place.network} in {place}, which {lacks}", problems)


def _awaited(network: NetworkView, what: str, problems: Mapping[Place, str]) -> NetworkAwaited:
    work, sentence = network.work, f"{what}: {problems.get(network.place) or in_words(network)}"
    if work is None or not work.tries or work.error != NotPermitted.__name__:
        return NetworkAwaited(sentence)
    return NetworkAwaited(sentence, True, next_try_at(work), try_now(network))


def try_now(network: NetworkView) -> str:
    """What a person types to have tried at once what failed."""
    place, is_removed = network.place, network.state is NetworkState.REMOVING
    return commands.try_now(network.name, place.account, place.region, is_removed=is_removed)
