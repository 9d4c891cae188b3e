"""Judges a document that came in, before anything acts on it. Pure."""

import json
import re
from dataclasses import dataclass

from pydantic import ValidationError

from agent.door.order import wrong_door
from agent.overlay.from_wire import wrong_overlay
from agent.services.tls_steps import wrong_step
from agent.wire import BootData, Document, ServiceDocument, TlsListener
from agent.wire_versions import WIRE_VERSIONS

_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_RULES = re.compile(r"flush ruleset\ntable inet kedge \{\n[^\"'\\$`]*\}\n")
"""Its own table first, and nothing quoted: no other file is included."""
_LISTENER = re.compile(r"[A-Z][A-Z0-9_]{0,31}")
_SUPER_USER = re.compile(r"User: ?[A-Za-z0-9=._-]+")
_MAPPING_RULES = re.compile(r"RULE:\^CN=\([a-z0-9|-]+\)\$/ CN=\$1/")
_URL = re.compile(r"https?://[!#-+.-~-]+")
_AUDIENCE = re.compile(r"[!#-+.-~-]+")
_CLAIM = re.compile(r"[A-Za-z0-9_.:/-]+")
_DIGEST = re.compile(r"super:[A-Za-z0-9+/]+={0,2}")


@dataclass(frozen=True, slots=True)
class Accepted:
    """`changed` is False when only the epoch differs: a new term of the control plane restarts nothing."""

    document: Document
    changed: bool


@dataclass(frozen=True, slots=True)
class DocumentRejected:
    """The document in force stays in force; `reason` is reported."""

    reason: str


def judge_document(raw: bytes, *, boot: BootData, current: Document | None) -> Accepted | DocumentRejected:
    """Accepts a document of this very instance, in a wire version we speak, of an epoch not below the highest seen."""
    try:
        wire = json.loads(raw)["wire"]
    except (ValueError, KeyError, TypeError):
        return DocumentRejected(
            "the server's document is not a JSON object with a `wire` version; the last one stays in force"
        )
    if wire not in WIRE_VERSIONS:
        *others, last = WIRE_VERSIONS
        return DocumentRejected(
            f"the server's document has wire version {wire!r}, this agent speaks {', '.join(map(str, others))} and"
            f" {last}; the last one stays in force, update the agent"
        )
    try:
        document = Document.model_validate_json(raw)
    except ValidationError as error:
        return DocumentRejected(
            f"the server's document cannot be read: {error.errors()[0]['msg']} at {error.errors()[0]['loc']}"
        )
    reason = _not_ours(document, boot) or _stale(document, current) or _unsafe(document)
    if reason:
        return DocumentRejected(f"{reason}; the last document stays in force")
    return Accepted(document, changed=current is None or not same_but_epoch(document, current))


def same_but_epoch(left: Document, right: Document) -> bool:
    """Equality of documents as agents understand it."""
    return left == right.model_copy(update={"epoch": left.epoch})


def _not_ours(document: Document, boot: BootData) -> str:
    theirs = (document.cluster_uid, document.node, document.generation)
    ours = (boot.cluster_uid, boot.node, boot.generation)
    return "" if theirs == ours else f"the server sent the document of {theirs}, this VM is {ours}"


def _stale(document: Document, current: Document | None) -> str:
    if current is None or document.epoch >= current.epoch:
        return ""
    return f"document of epoch {document.epoch} refused: epoch {current.epoch} was seen, an old leader is still talking"


def _unsafe(document: Document) -> str:
    """Names that become paths may not leave their directory; a service may be listed once."""
    for service in document.services:
        for name in (service.kafka_version, service.address, *(log_dir.name for log_dir in service.log_dirs)):
            if not _SAFE_NAME.fullmatch(name):
                return f"{service.name}: {name!r} cannot be used as a file name"
        for member in service.ensemble:
            if not _SAFE_NAME.fullmatch(member.address):
                return f"{service.name}: {member.address!r} cannot be the address of a ZooKeeper server"
        if service.super_digest and not _DIGEST.fullmatch(service.super_digest):
            return f"{service.name}: `super_digest` is no `super:` with a base64 hash"
        if service.name == "zookeeper" and not service.ensemble:
            return f"{service.name}: the document names no member of the ensemble"
        if service.name == "broker" and service.is_zookeeper_mode and not service.protocol_version:
            return f"{service.name}: the document pins no protocol version, which ZooKeeper mode needs"
        if wrong := _unsafe_tls(service):
            return f"{service.name}: {wrong}"
        if not service.log_dirs:
            return f"{service.name}: the document names no log directory"
    if document.packet_filter is not None and not _RULES.fullmatch(document.packet_filter):
        return "the packet filter is not a ruleset with a table `inet kedge`"
    if document.door is not None and (wrong := wrong_door(document.door)):
        return f"the door: {wrong}"
    if wrong := _wrong_overlay(document):
        return f"the overlay: {wrong}"
    names = [service.name for service in document.services]
    return "" if len(names) == len(set(names)) else f"a service is listed twice: {names}"


def _wrong_overlay(document: Document) -> str:
    if document.overlay is None:
        return ""
    cluster_uid, node, generation = document.cluster_uid, document.node, document.generation
    return wrong_overlay(document.overlay, cluster_uid=cluster_uid, node=node, generation=generation)


def _unsafe_tls(service: ServiceDocument) -> str:
    """Why what it says of TLS is not rendered, "" where it says nothing of it or all is well."""
    if service.tls is None:
        return ""
    if service.is_migrating and service.tls.step is not None:
        return "a service that migrates from ZooKeeper is at no step between plaintext and TLS"
    wrong = [one.name for one in service.tls.listeners if not _LISTENER.fullmatch(one.name)]
    wrong += [user for user in service.tls.super_users if not _SUPER_USER.fullmatch(user)]
    if wrong:
        return f"{wrong[0]!r} is neither the name of a listener nor that of a super user"
    heard = next((one.name for one in service.tls.listeners if one.security == "plaintext" and one.asks), "")
    if heard:
        return f"listener {heard} would ask for passwords or certificates in plaintext"
    if wrong_tokens := next((w for one in service.tls.listeners if (w := _wrong_tokens(one))), ""):
        return wrong_tokens
    if service.tls.mapping_rules and not _MAPPING_RULES.fullmatch(service.tls.mapping_rules):
        return "the rules that name nodes are none of ours"
    if not service.tls.super_users:
        return "no super user is named: its nodes would refuse one another"
    return wrong_step(service, service.tls)


def _wrong_tokens(listener: TlsListener) -> str:
    """Why tokens could not be judged at a listener, "" where it asks for none or all is well."""
    if listener.authentication != "oauth":
        return ""
    asked = listener.tokens
    if asked is None or not asked.audience or not asked.issuer:
        return f"listener {listener.name} asks for tokens, and nobody says whose, or for whom"
    sound = _URL.fullmatch(asked.issuer) and _URL.fullmatch(asked.jwks) and _CLAIM.fullmatch(asked.principal_claim)
    return "" if sound and _AUDIENCE.fullmatch(asked.audience) else f"listener {listener.name}: no such provider"
