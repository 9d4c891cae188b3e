"""Back to an earlier declaration: applied like any other change, or as a pull request to the file it is declared in."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from controlplane.api.access.bindings import traits_of
from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Verb
from controlplane.api.approvals import propose
from controlplane.api.change_requests import file_on_branch, file_with
from controlplane.api.cluster_lookup import living
from controlplane.api.given_commands import spread
from controlplane.api.presenters import specs as spec_answers
from controlplane.api.presenters.judged_text import words_of
from controlplane.api.problems import ApiError
from controlplane.api.pull_requests import ForgeDoor, Requester, Wish, door_of, open_request
from controlplane.api.read_models.spec_form import text_of
from controlplane.api.schemas.rollbacks import RollbackIn, RollbackOut
from controlplane.api.services import PortalServices
from controlplane.api.specs import Judged, Order, declare, judge
from controlplane.background.git_sync.file_text import NotInFile, document_in, topic_in_file
from controlplane.cluster.commands import CommandRefused
from controlplane.cluster.spec_source import source_name
from controlplane.cluster.view import ClusterView
from controlplane.storage.streams import cluster_stream
from events.envelope import Recorded
from events.spec import change, conversion, model, topic_model
from events.spec.birth import settled
from events.spec.document import LoadResult, load_documents

APPLY, REQUEST, FILE = "apply", "pull-request", "file"
BY_HAND = "Edit the file by hand."
UNJUDGED = Judged("", (), ())
"""Until it is known which file is to be judged."""


@dataclass(frozen=True, slots=True)
class Rollback:
    """What it would take. `text` is the file as it would be; `changes` those of a cluster's fields.

    With `topic` it is one of that cluster's topics that goes back, and `generation` the number of its declaration.
    """

    view: ClusterView
    generation: int
    way: str
    text: str
    judged: Judged
    source: str
    path: str = ""
    door: ForgeDoor | None = None
    topic: str = ""
    changes: tuple[change.FieldChange, ...] = ()

    @property
    def subject(self) -> str:
        """What goes back, as its document is named in a file."""
        return topic_in_file(self.view.name, self.topic) if self.topic else self.view.name

    @property
    def then(self) -> str:
        """What it goes back to, in words."""
        return f"{'declaration' if self.topic else 'generation'} {self.generation}"

    @property
    def digest(self) -> str:
        """Pins what a person agrees to."""
        return self.judged.digest


@dataclass(frozen=True, slots=True)
class DeclarationOrigin:
    """Where a document was declared from: nothing where that was the API."""

    source: str = ""
    path: str = ""
    commit: str = ""


@dataclass(frozen=True, slots=True)
class Spec:
    """The document that is wanted as Kedge writes it, and whether what was read of a file says the same."""

    text: str
    says_it: Callable[[LoadResult], bool]


def declarations(services: PortalServices, view: ClusterView) -> dict[int, Recorded]:
    """What was declared, by generation."""
    return declared_in(services.store.read_stream(cluster_stream(view.uid)))


def declared_in(events: Sequence[Recorded]) -> dict[int, Recorded]:
    """The same of events of a cluster that were read."""
    return {int(e.data["generation"]): e for e in events if e.type == "cluster.declared"}


def rollback_of(services: PortalServices, rights: Rights, name: str, generation: int) -> Rollback:
    """Works it out; nothing is done. Raises ClusterNotFound, ApiError, Forbidden, CommandRefused, ForgeFault."""
    living(services, name)
    view = services.cluster.commands.current(name)
    events = services.store.read_stream(cluster_stream(view.uid))
    declared = declared_in(events).get(generation)
    if declared is None:
        raise ApiError(404, "generation-not-found", f"{name} has no generation {generation}")
    document = conversion.from_data(dict(declared.data["document"]))
    for traits, what in ((view.document, name), (document, f"{name} as generation {generation} has it")):
        rights.require(Verb.DECLARE, traits_of(traits), what)
    if view.document == document:
        then = "kedge events shows what was declared when."
        raise CommandRefused("in-force", f"{name} is declared as generation {generation} has it", then)
    text = text_of(conversion.shortest_data(document))
    changes = tuple(change.differences(view.document, document)) if view.document else ()
    found = Rollback(view, generation, APPLY, text, UNJUDGED, source_name(view), changes=changes)
    if view.declaration.source is None or not view.declaration.source.is_git:
        return replace(found, judged=judge(services, text, file=f"{name} of generation {generation}"))

    def says_it(loaded: LoadResult) -> bool:
        return tuple(settled(one, document) for one in loaded.documents) == (document,)

    origin = _origin_before(events, declared)
    return through_git(services, found, Spec(text, says_it), path=view.declaration.source.origin.path, origin=origin)


def through_git(
    services: PortalServices, found: Rollback, spec: Spec, *, path: str, origin: DeclarationOrigin
) -> Rollback:
    """The same by the file it is declared in: as a pull request, or by hand where its binding names no forge.

    Raises ForgeFault, and CommandRefused where the file does not take it.
    """
    if not path:
        raise CommandRefused("no-file", f"the file of {found.subject} was not found yet", "Wait for the next poll.")
    door = door_of(services, found.source)
    if door is None:
        return replace(found, way=FILE, path=path, judged=judge(services, found.text, file=path))
    current = file_on_branch(door, path)
    old = _as_committed(door, found.subject, spec, origin) or spec.text
    loaded = load_documents(old, file=path)
    if loaded.ok and not spec.says_it(loaded):
        raise CommandRefused("no-document", f"{found.then} of {found.subject} cannot be written down", BY_HAND)
    wanted: list[model.KafkaClusterDocument | topic_model.KafkaTopicDocument] = [*loaded.documents, *loaded.topics]
    text = file_with(current, found.subject, old, wanted=wanted, path=path)
    judged = judge(services, text, file=path, takes_pairs=True)
    return replace(found, way=REQUEST, path=path, text=text, judged=judged, door=door)


def roll_back(services: PortalServices, found: Rollback, order: RollbackIn, asked: Requester) -> RollbackOut:
    """Does it, or with `dry_run` says what it would do. A plan that moved is a refusal (409)."""
    out = _rollback_out(found)
    asked.rights.trail.refused = found.judged.refusal
    if order.dry_run or not found.judged.ok:
        return out
    if order.plan_digest is not None and order.plan_digest != found.digest:
        message = "the plan is not what it was when it was agreed to"
        raise ApiError(409, "plan-moved", message, next_step="Plan again, and look at what it says now.")
    if found.way == FILE:
        then = f"Commit the spec that a dry run shows to {found.path}, or give the binding a `forge`."
        raise CommandRefused("no-forge", f"the binding of {found.source} names no forge", then)
    if found.way == REQUEST:
        return _requested(found, order, asked, out)
    return _applied(services, found, order, asked, out)


def _as_committed(door: ForgeDoor, name: str, spec: Spec, origin: DeclarationOrigin) -> str | None:
    """The document as people wrote it, comments and all, where its commit still has it and it says the same."""
    if origin.source != f"git:{door.binding.name}" or not origin.path:
        return None
    text = door.read(origin.path, origin.commit)
    try:
        found = document_in(text, name) if text is not None else ""
    except NotInFile:
        return None
    loaded = load_documents(found, file="")
    return found if loaded.ok and spec.says_it(loaded) else None


def _requested(found: Rollback, order: RollbackIn, asked: Requester, out: RollbackOut) -> RollbackOut:
    assert found.door is not None
    wish = Wish(
        path=found.path,
        text=found.text,
        title=f"Roll {found.subject} back to {found.then}",
        name=f"rollback-{found.subject.replace('/', '-')}-{found.generation}",
        why=order.reason,
        plan=tuple(words_of(found.judged)),
    )
    opened = open_request(found.door, wish, asked)
    sentence = f"a pull request is open: {opened.url}. It is rolled back once that is merged"
    return out.model_copy(update={"request": opened, "sentence": sentence})


def _applied(
    services: PortalServices, found: Rollback, order: RollbackIn, asked: Requester, out: RollbackOut
) -> RollbackOut:
    message = f"back to {found.then}{': ' * bool(order.reason)}{order.reason}"
    if found.judged.reserved:
        proposal = propose(services, found.judged, found.text, actor=asked.actor, key=asked.key, message=message).id
        sentence = f"a second person must approve: proposal {proposal} is recorded, nothing is declared yet"
        return out.model_copy(update={"proposal": proposal, "sentence": sentence})
    # A topic's declaration has no words of its own: they stand where its file is told.
    judged = replace(found.judged, file=f"{found.judged.file}: {message}") if found.topic else found.judged
    how = Order(actor=asked.actor, command_id=asked.key, message=message, plan_digest=order.plan_digest)
    done = declare(services, judged, how).all
    spread(services, done)
    generation = f" (generation {done[0].generation})" if done and not found.topic else ""
    sentence = f"{found.subject} is declared as {found.then} had it{generation}"
    return out.model_copy(update={"changed": any(one.changed for one in done), "sentence": sentence})


def _rollback_out(found: Rollback) -> RollbackOut:
    judged = found.judged
    return RollbackOut(
        cluster=found.view.name,
        topic=found.topic,
        generation=found.generation,
        way=found.way,
        source=found.source,
        path=found.path,
        text=found.text,
        ok=judged.ok,
        problems=[spec_answers.problem_out(p) for p in judged.problems],
        plans=[spec_answers.plan_out(p) for p in judged.plans],
        topics=list(judged.plan_beside),
        digest=found.digest,
        reserved=list(judged.reserved),
    )


def _origin_before(events: Sequence[Recorded], declared: Recorded) -> DeclarationOrigin:
    before = [e.data for e in events if e.type == "cluster.source_changed" and e.version < declared.version]
    if not before:
        return DeclarationOrigin()
    last = before[-1]
    return DeclarationOrigin(str(last.get("source") or ""), str(last.get("path") or ""), str(last.get("commit") or ""))
