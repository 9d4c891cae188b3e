"""The two kinds of documents about what is in a cluster, as a source reads them: topics and users."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.background.git_sync.reading import SourceFile
from controlplane.cluster import commands, user_commands
from controlplane.cluster.view import ClusterView
from controlplane.commands.deciders.decision import CommandDecision
from controlplane.commands.deciders.kept import Kept
from controlplane.commands.deciders.topics import topic_news, topics_gone
from controlplane.commands.deciders.users import user_news, users_gone
from controlplane.commands.previews.topics import topic_lines
from controlplane.commands.previews.users import user_lines
from events.spec.model import KafkaClusterDocument


@dataclass(frozen=True, slots=True)
class KeptKind:
    """`of_file`: those a file declares; `known`: those in force, by name; `order` and `gone` make the commands, whose
    decisions `news` and `gone_news` are; `lines` tell what would be declared."""

    noun: str
    of_file: Callable[[SourceFile], Sequence[commands.DeclaredIn[Any]]]
    name: Callable[[Any], str]
    known: Callable[[ClusterView], Mapping[str, Kept]]
    order: Callable[..., commands.DeclareInCluster]
    news: Callable[[ClusterView, Any], CommandDecision]
    gone: Callable[..., commands.Command]
    gone_news: Callable[[ClusterView, Any], CommandDecision]
    lines: Callable[[ClusterView, KafkaClusterDocument, Sequence[Any]], Sequence[str]]

    @property
    def plural(self) -> str:
        return f"{self.noun}s"

    def keys(self, file: SourceFile) -> list[tuple[str, str]]:
        """(cluster, name) of each that a file declares."""
        return [(one.document.spec.cluster, self.name(one.document)) for one in self.of_file(file)]

    def declared_by(self, order: Any) -> Sequence[commands.DeclaredIn[Any]]:
        """Those of a command that `order` made."""
        found: Sequence[commands.DeclaredIn[Any]] = getattr(order, self.plural)
        return found


TOPICS = KeptKind(
    noun="topic",
    of_file=lambda file: file.topics,
    name=lambda document: document.topic,
    known=lambda view: view.topics.by_name,
    order=lambda declared, **head: commands.DeclareTopics(topics=declared, **head),
    news=topic_news,
    gone=lambda names, **head: commands.ReportTopicsGone(topics=names, **head),
    gone_news=topics_gone,
    lines=topic_lines,
)
USERS = KeptKind(
    noun="user",
    of_file=lambda file: file.users,
    name=lambda document: document.user,
    known=lambda view: view.users.by_name,
    order=lambda declared, **head: commands.DeclareUsers(users=declared, **head),
    news=user_news,
    gone=lambda names, **head: user_commands.ReportUsersGone(users=names, **head),
    gone_news=users_gone,
    lines=user_lines,
)
KINDS = (TOPICS, USERS)
"""Topics first: rights of users are about them."""
