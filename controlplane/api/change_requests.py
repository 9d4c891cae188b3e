"""A change of what a git source declares, as a pull request: in its file one document gives way to the changed one."""

from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.api import pull_requests
from controlplane.api.schemas.sources import PullRequestOut
from controlplane.api.services import PortalServices
from controlplane.api.specs import Judged
from controlplane.background.git_sync.file_text import NotInFile, topic_in_file, with_document
from controlplane.background.git_sync.service import SourceNotFound
from controlplane.cluster.commands import CommandRefused
from controlplane.cluster.spec_source import source_name
from controlplane.cluster.view import ClusterView
from controlplane.commands.topic_declaration import declaration_of
from events.spec.birth import settled
from events.spec.document import LoadResult, load_documents
from events.spec.model import KafkaClusterDocument
from events.spec.topic_model import KafkaTopicDocument


@dataclass(frozen=True, slots=True)
class DeclaredFile:
    """Where a cluster, or with `topic` a topic of it, is declared in git."""

    view: ClusterView
    topic: str
    path: str
    door: pull_requests.ForgeDoor

    @property
    def name(self) -> str:
        """Of the document in the file."""
        return topic_in_file(self.view.name, self.topic) if self.topic else self.view.name


def declared_file(services: PortalServices, view: ClusterView, topic: str, judged: Judged) -> DeclaredFile | None:
    """Where a pull request would change it; None where it is not in git, no forge is there, or a commit may not."""
    source, path = _origin(view, topic)
    try:
        door = pull_requests.door_of(services, source)
    except SourceNotFound:
        return None
    if (
        door is None
        or not path
        or not judged.ok
        or not pull_requests.may_commit(services, door.binding, judged, "change")
    ):
        return None
    return DeclaredFile(view, topic, path, door)


def request_change(
    services: PortalServices,
    file: DeclaredFile | None,
    text: str,
    judged: Judged,
    asked: pull_requests.Requester,
    plan: Sequence[str],
) -> PullRequestOut:
    """Opens a pull request with the document `text`. Raises Forbidden, ForgeFault, and CommandRefused where it cannot.

    A file that says something else than what is in force is left alone: somebody else's change would be lost.
    """
    pull_requests.require_declare(services, judged, asked)
    if file is None:
        then = "Load the page again; the file can be downloaded and committed."
        raise CommandRefused("no-forge", "no pull request of this can be opened", then)
    current = file_on_branch(file.door, file.path)
    if not _says_what_is_in_force(file, load_documents(current, file=file.path, takes_pairs=True)):
        message = f"{file.path} on the branch {file.door.binding.branch} does not say what is in force of {file.name}"
        raise CommandRefused("file-moved", message, "Wait for the next poll, or see what /sources says of it.")
    wanted: list[KafkaClusterDocument | KafkaTopicDocument] = [one.document for one in judged.documents]
    wanted += [one.document for one in judged.topics]
    name = file.name.replace("/", "-")
    wish = pull_requests.Wish(
        path=file.path,
        text=file_with(current, file.name, text, wanted=wanted, path=file.path),
        title=f"Change {name}",
        name=f"change-{name}",
        plan=tuple(plan),
    )
    return pull_requests.open_request(file.door, wish, asked)


def file_on_branch(door: pull_requests.ForgeDoor, path: str) -> str:
    """The file as the branch has it now. Raises CommandRefused where it is not there, ForgeFault."""
    current = door.read(path)
    if current is None:
        then = "Put the file back, or look at the rights of the bot."
        raise CommandRefused("no-file", f"{path} is not on the branch {door.binding.branch}", then)
    return current


def file_with(
    current: str,
    name: str,
    document: str,
    *,
    wanted: Sequence[KafkaClusterDocument | KafkaTopicDocument],
    path: str,
) -> str:
    """The file with a document in place of the one of that name, proved to declare `wanted`. Raises CommandRefused."""
    try:
        text = with_document(current, name, document)
    except NotInFile as error:
        raise CommandRefused("no-document", f"{path}: {error}", "Edit the file by hand.") from error
    loaded = load_documents(text, file=path, takes_pairs=True)
    clusters = {one.metadata.name: one for one in wanted if isinstance(one, KafkaClusterDocument)}
    there = [settled(one, clusters.get(one.metadata.name)) for one in loaded.documents]
    if not all(one in (*there, *loaded.topics) for one in wanted):
        raise CommandRefused("no-document", f"{path} does not take the spec of {name}", "Edit the file by hand.")
    return text


def _origin(view: ClusterView, topic: str) -> tuple[str, str]:
    """The source, and the path of the file there, "" where it was not found."""
    if not topic:
        return source_name(view), view.declaration.source.origin.path if view.declaration.source is not None else ""
    known = view.topics.by_name.get(topic)
    return (known.source, known.path) if known is not None and not known.undeclared else ("", "")


def _says_what_is_in_force(file: DeclaredFile, loaded: LoadResult) -> bool:
    cluster, name = file.view.document, file.view.name
    if not loaded.ok or cluster is None:
        return False
    if not file.topic:
        return [settled(d, cluster) for d in loaded.documents if d.metadata.name == name] == [cluster]
    found = [t for t in loaded.topics if (t.spec.cluster, t.topic) == (name, file.topic)]
    return [declaration_of(t, cluster) for t in found] == [file.view.topics.by_name[file.topic].declared]
