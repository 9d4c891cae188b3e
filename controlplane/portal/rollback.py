"""Back to an earlier declaration: applied like any other change, or as a pull request to the file it is declared in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.commands import CommandRefused
from controlplane.gitsync.filetext import NotInFile, document_in
from controlplane.portal import answers
from controlplane.portal import schemas as api
from controlplane.portal.access.bindings import traits_of
from controlplane.portal.access.rights import Rights
from controlplane.portal.access.roles import Verb
from controlplane.portal.changerequests import file_on_branch, file_with
from controlplane.portal.pages.proposals import words_of
from controlplane.portal.pages.specform import text_of
from controlplane.portal.problems import ApiError
from controlplane.portal.pullrequests import Asked, ForgeDoor, Wish, door_of, open_request
from controlplane.portal.rollbackschemas import RollbackIn, RollbackOut
from controlplane.portal.routes.clusters import apply, living
from controlplane.portal.services import PortalServices
from controlplane.portal.specs import Judged, judge
from controlplane.specsource import source_name
from controlplane.streams import cluster_stream
from controlplane.view import ClusterView
from events.envelope import Recorded
from events.spec.conversion import from_data, shortest_data
from events.spec.document import load_documents
from events.spec.model import KafkaClusterDocument

APPLY, REQUEST, FILE = "apply", "pull-request", "file"


@dataclass(frozen=True, slots=True)
class Rollback:
    """What it would take. `text` is the file as it would be; `document` the spec that is wanted."""

    view: ClusterView
    generation: int
    document: KafkaClusterDocument
    way: str
    text: str
    judged: Judged
    path: str = ""
    door: ForgeDoor | None = None


def declarations(services: PortalServices, view: ClusterView) -> dict[int, Recorded]:
    """What was declared, by generation."""
    return declared_in(services.store.read_stream(cluster_stream(view.uid)))


def declared_in(events: Sequence[Recorded]) -> dict[int, Recorded]:
    """The same of events of a cluster that were read."""
    return {int(e.data["generation"]): e for e in events if e.type == "cluster.declared"}


def rollback_of(services: PortalServices, rights: Rights, name: str, generation: int) -> Rollback:
    """Works it out; nothing is done. Raises ClusterNotFound, ApiError, Forbidden, CommandRefused, ForgeFault."""
    living(services, name)
    view = services.commands.current(name)
    events = services.store.read_stream(cluster_stream(view.uid))
    declared = declared_in(events).get(generation)
    if declared is None:
        raise ApiError(404, "generation-not-found", f"{name} has no generation {generation}")
    document = from_data(dict(declared.data["document"]))
    for traits, what in ((view.document, name), (document, f"{name} as generation {generation} has it")):
        rights.require(Verb.DECLARE, traits_of(traits), what)
    if view.document == document:
        then = "kedge events shows what was declared when."
        raise CommandRefused("in-force", f"{name} is declared as generation {generation} has it", then)
    if view.source is None or not view.source.is_git:
        text = text_of(shortest_data(document))
        judged = judge(services, text, file=f"{name} of generation {generation}")
        return Rollback(view, generation, document, APPLY, text, judged)
    return _through_git(services, view, generation, document, _origin_before(events, declared))


def roll_back(services: PortalServices, found: Rollback, order: RollbackIn, asked: Asked) -> RollbackOut:
    """Does it, or with `dry_run` says what it would do. A plan that moved is a refusal (409)."""
    told = _told(found)
    if order.dry_run or not found.judged.ok:
        return told
    if order.plan_digest is not None and order.plan_digest != found.judged.digest:
        message = "the plan is not what it was when it was agreed to"
        raise ApiError(409, "plan-moved", message, next_step="Plan again, and look at what it says now.")
    if found.way == FILE:
        then = f"Commit the spec that a dry run shows to {found.path}, or give the binding a `forge`."
        raise CommandRefused("no-forge", f"the binding of {source_name(found.view)} names no forge", then)
    if found.way == REQUEST:
        return _requested(found, order, asked, told)
    return _applied(services, found, order, asked, told)


def _through_git(
    services: PortalServices,
    view: ClusterView,
    generation: int,
    document: KafkaClusterDocument,
    origin: Mapping[str, Any],
) -> Rollback:
    assert view.source is not None
    name, path = document.metadata.name, view.source.origin.path
    if not path:
        raise CommandRefused("no-file", f"the file of {name} was not found yet", "Wait for the next poll.")
    door, plain = door_of(services, view.source.name), text_of(shortest_data(document))
    if door is None:
        return Rollback(view, generation, document, FILE, plain, judge(services, plain, file=path), path)
    current = file_on_branch(door, path)
    old = _as_committed(door, name, document, origin) or plain
    text = file_with(current, name, old, wanted=[document], path=path)
    return Rollback(view, generation, document, REQUEST, text, judge(services, text, file=path), path, door)


def _as_committed(door: ForgeDoor, name: str, document: KafkaClusterDocument, origin: Mapping[str, Any]) -> str | None:
    """The document as people wrote it, comments and all, where its commit still has it and it says the same."""
    if origin.get("source") != f"git:{door.binding.name}" or not origin.get("path"):
        return None
    text = door.read(str(origin["path"]), str(origin["commit"]))
    try:
        found = document_in(text, name) if text is not None else ""
    except NotInFile:
        return None
    loaded = load_documents(found, file="")
    return found if loaded.ok and loaded.documents == (document,) else None


def _requested(found: Rollback, order: RollbackIn, asked: Asked, told: RollbackOut) -> RollbackOut:
    assert found.door is not None
    name = found.view.name
    wish = Wish(
        path=found.path,
        text=found.text,
        title=f"Roll {name} back to generation {found.generation}",
        name=f"rollback-{name}-{found.generation}",
        why=order.reason,
        plan=tuple(words_of(found.judged)),
    )
    opened = open_request(found.door, wish, asked)
    sentence = f"a pull request is open: {opened.url}. It is rolled back once that is merged"
    return told.model_copy(update={"request": opened, "sentence": sentence})


def _applied(
    services: PortalServices, found: Rollback, order: RollbackIn, asked: Asked, told: RollbackOut
) -> RollbackOut:
    message = f"back to generation {found.generation}{': ' * bool(order.reason)}{order.reason}"
    file = found.judged.file
    wanted = api.ApplyIn(text=found.text, file=file, plan_digest=order.plan_digest, message=message)
    done = apply(wanted, services, asked.actor, asked.key)
    if not done.ok:
        return told.model_copy(update={"ok": False, "problems": done.problems})
    generation = done.applied[0].generation if done.applied else 0
    sentence = f"{found.view.name} is declared as generation {found.generation} had it (generation {generation})"
    if done.proposal:
        sentence = f"a second person has to agree: proposal {done.proposal} is recorded, nothing is declared yet"
    changed = any(one.changed for one in done.applied)
    return told.model_copy(update={"changed": changed, "proposal": done.proposal, "sentence": sentence})


def _told(found: Rollback) -> RollbackOut:
    judged = found.judged
    return RollbackOut(
        cluster=found.view.name,
        generation=found.generation,
        way=found.way,
        source=source_name(found.view),
        path=found.path,
        text=found.text,
        ok=judged.ok,
        problems=[answers.problem_out(p) for p in judged.problems],
        plans=[answers.plan_out(p) for p in judged.plans],
        digest=judged.digest,
        reserved=list(judged.reserved),
    )


def _origin_before(events: Sequence[Recorded], declared: Recorded) -> Mapping[str, Any]:
    """The address its spec came from then; nothing where that was the API."""
    before = [e for e in events if e.type == "cluster.source_changed" and e.version < declared.version]
    return before[-1].data if before else {}
