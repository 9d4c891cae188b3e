"""Pull requests in the name of a person: the bot commits and opens, the author of the commit is who asked for it."""

import hashlib
from dataclasses import dataclass

from controlplane.api.access.bindings import traits_of
from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Verb
from controlplane.api.schemas.sources import PullRequestOut
from controlplane.api.services import PortalServices
from controlplane.api.specs import Judged
from controlplane.background.forges.forge import FileChange
from controlplane.background.forges.link import ForgeLink
from controlplane.background.git_sync.binding import GitBinding, Verb as GitVerb
from controlplane.cluster.commands import CommandRefused
from controlplane.cluster.spec_source import binding_of
from events.spec.model import KafkaClusterDocument

_NO_MAIL = "kedge.invalid"


@dataclass(frozen=True, slots=True)
class Requester:
    """Who asks for something, and under which id."""

    rights: Rights
    actor: str
    key: str


@dataclass(frozen=True, slots=True)
class ForgeDoor:
    """A binding whose forge takes pull requests."""

    binding: GitBinding
    link: ForgeLink

    def read(self, path: str, ref: str = "") -> str | None:
        """A file of the branch, or as of a commit; None where it is not there. Raises ForgeFault."""
        return self.link.forge.read(path, ref or self.binding.branch)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A file somebody wants in a branch. `why` is their reason."""

    path: str
    text: str
    title: str
    name: str
    """Short: part of the branch's name."""
    why: str = ""
    is_new: bool = False
    plan: tuple[str, ...] = ()
    """What it would do, line by line."""


def door_of(services: PortalServices, source: str) -> ForgeDoor | None:
    """The forge behind a source, None where it has none. Raises SourceNotFound for one the caller may not see."""
    service, name = services.fleet.sources, binding_of(source)
    if service is None or not name:
        return None
    link = services.fleet.forges.get(name)
    return None if link is None else ForgeDoor(service.status(name).binding, link)


def doors_for(services: PortalServices, judged: Judged) -> list[ForgeDoor]:
    """Those through which what a file declares may be declared, by name; none where some of it is there already."""
    service, forges = services.fleet.sources, services.fleet.forges
    if service is None or not judged.ok or any(one.plan.exists for one in judged.documents):
        return []
    bindings = [status.binding for status in service.statuses() if status.binding.name in forges]
    fitting = [binding for binding in bindings if may_commit(services, binding, judged, "create")]
    return [ForgeDoor(b, forges[b.name]) for b in sorted(fitting, key=lambda b: b.name)]


def may_commit(services: PortalServices, binding: GitBinding, judged: Judged, verb: GitVerb) -> bool:
    """Whether a commit of this binding may declare what a file does: its verbs, its team and its accounts."""
    teams = {owner.metadata.owner if owner is not None else "" for owner in _owners(services, judged)}
    pools = [pool for one in judged.documents for pool in one.document.spec.pools]
    accounts = {f"{pool.place.cloud}/{pool.place.account}" for pool in pools}
    lies_in_its_own = not binding.accounts or accounts <= set(binding.accounts)
    return verb in binding.verbs and lies_in_its_own and (not binding.team or teams == {binding.team})


def require_declare(services: PortalServices, judged: Judged, asked: Requester) -> None:
    """Raises Forbidden unless who asks may declare all of a file as it would be, under names that are not taken."""
    for owner in _owners(services, judged):
        asked.rights.require(Verb.DECLARE, traits_of(owner), "what this spec declares")
    for one in judged.documents:
        services.cluster.commands.current(one.document.metadata.name)


def request_new(
    services: PortalServices, judged: Judged, text: str, asked: Requester, *, binding: str
) -> PullRequestOut:
    """Opens a pull request with a new file. Raises Forbidden, ForgeFault, and CommandRefused where that is no way."""
    require_declare(services, judged, asked)
    door = next((d for d in doors_for(services, judged) if d.binding.name == binding), None)
    if door is None:
        then = "Load the page again; the file can be downloaded and committed."
        raise CommandRefused("no-forge", f"no pull request of this can be opened in git:{binding}", then)
    path = _file_of_new(door, judged)
    name = path.rpartition("/")[2].removesuffix(".yaml")
    wish = Wish(
        path=path,
        text=text,
        title=f"Add {name}",
        name=f"new-{name}",
        is_new=True,
        plan=judged.plan_beside,
    )
    return open_request(door, wish, asked)


def open_request(door: ForgeDoor, wish: Wish, asked: Requester) -> PullRequestOut:
    """Opens it, the same one for the same id; the audit names it.

    Raises ForgeFault, and CommandRefused where a new file is there already. Rights are judged by who calls this: a
    forge knows the bot alone.
    """
    if wish.is_new and door.read(wish.path) is not None:
        then = "Give it another name, or change that file."
        raise CommandRefused("file-exists", f"{wish.path} is there already in {door.link.forge.where}", then)
    name = author_name(asked.actor)
    change = FileChange(
        branch=f"kedge/{_plain(wish.name)}-{hashlib.sha256(asked.key.encode()).hexdigest()[:10]}",
        base=door.binding.branch,
        path=wish.path,
        text=wish.text,
        title=wish.title,
        body=_body(wish, name),
        author_name=name,
        author_email=_email(name, door.link.binding.email_domain),
        is_new=wish.is_new,
    )
    opened = door.link.forge.open_request(change)
    asked.rights.trail.note = f"pull request {opened.url}"
    return PullRequestOut(number=opened.number, url=opened.url, branch=opened.branch)


def _owners(services: PortalServices, judged: Judged) -> list[KafkaClusterDocument | None]:
    """Documents whose team says whose it is: of a cluster its own, of a topic or a user its cluster's."""
    documents = [one.document for one in judged.documents]
    within = [one.document.spec.cluster for one in judged.topics] + [one.document.spec.cluster for one in judged.users]
    return [*documents, *(services.cluster.commands.current(name).document for name in within)]


def _file_of_new(door: ForgeDoor, judged: Judged) -> str:
    """Where a new spec goes: a file of its own in the folder of the binding."""
    names = [d.document.metadata.name for d in judged.documents]
    names += [f"{t.document.spec.cluster}-{t.document.topic}" for t in judged.topics]
    names += [f"{u.document.spec.cluster}-{u.document.user}" for u in judged.users]
    folder = f"{door.binding.path}/" if door.binding.path else ""
    return f"{folder}{_plain('-'.join(names))}.yaml"


def author_name(actor: str) -> str:
    """Who asked, as a commit names them: without what git gives a meaning to."""
    name = actor.partition(":")[2].removeprefix("oidc:")
    return "".join(c for c in name if c.isprintable() and c not in "<>\"'\\")[:100].strip(" .,:;") or "Kedge"


def _email(name: str, domain: str) -> str:
    if "@" in name:
        return name
    return f"{_plain(name)}@{domain or _NO_MAIL}"


def _body(wish: Wish, name: str) -> str:
    """Indented where others' words stand, so that nothing in it is taken for markup."""
    quoted = [f"    {line}" for line in (wish.why, *wish.plan) if line]
    asked = f"Kedge opens this for `{name.replace('`', '')}`."
    return "\n".join([asked, *(["", *quoted] if quoted else [])])


def _plain(text: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in text)[:80].strip(".-") or "spec"
