"""What a VM is told of its overlay in unit tests: `brokers-a-0.g2` of cluster c1, and two others."""

from base64 import b64encode

from agent.overlay.addresses import prefix_of, service_address, vm_address
from agent.wire import Document, OverlayDocument, OverlayLink, OverlayPeer
from agent.wire_versions import OVERLAY_WIRE_VERSION
from tests.unit.agent.wanted import document

PREFIX = prefix_of("c1")
LINKS = (
    OverlayLink(name="kedge-private", path="private", port=51820),
    OverlayLink(name="kedge-public", path="public", port=51821),
)


def public_key(number: int) -> str:
    return b64encode(bytes([number]) * 32).decode()


def peer(number: int, **changes: object) -> OverlayPeer:
    """Of broker 1000 + `number`."""
    node = f"brokers-b-{number}"
    made = OverlayPeer(
        node=node,
        generation=1,
        public_key=public_key(number),
        vm=vm_address(PREFIX, node, 1),
        services=(service_address(PREFIX, "broker", 1000 + number),),
        paths={"private": f"10.0.0.{number}:51820", "public": None},
    )
    return made.model_copy(update=changes)


def overlay(**changes: object) -> OverlayDocument:
    made = OverlayDocument(
        prefix=PREFIX,
        epoch=1,
        vm=vm_address(PREFIX, "brokers-a-0", 2),
        services=(service_address(PREFIX, "broker", 1000),),
        links=LINKS,
        peers=(peer(1), peer(2)),
    )
    return made.model_copy(update=changes)


def with_overlay(told: OverlayDocument | None, wanted: Document | None = None) -> Document:
    wanted = wanted or document()
    return wanted.model_copy(update={"wire": OVERLAY_WIRE_VERSION, "overlay": told})
