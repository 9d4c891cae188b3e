"""Back to an earlier declaration of a topic, on the way clusters go back.

What a topic cannot take back is refused in words: partitions never shrink, one that was adopted as found has no
document, and what is deleted has lost its records.
"""

from dataclasses import replace

from controlplane.api.access.bindings import traits_of
from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Verb
from controlplane.api.cluster_lookup import living
from controlplane.api.problems import ApiError
from controlplane.api.read_models.change_form import topic_data
from controlplane.api.read_models.spec_form import text_of
from controlplane.api.rollback import APPLY, UNJUDGED, DeclarationOrigin, Rollback, Spec, through_git
from controlplane.api.schemas.rollbacks import TopicDeclarationsOut
from controlplane.api.services import PortalServices
from controlplane.api.specs import judge
from controlplane.api.topic_declarations import NumberedTopic, topic_declarations, topic_declarations_out
from controlplane.cluster.commands import CommandRefused
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.source import API
from controlplane.cluster.views.topics import TopicView
from controlplane.commands.deciders.topics import refuse_topic
from controlplane.commands.topic_declaration import declaration_of
from controlplane.storage.streams import cluster_stream
from events.spec.document import LoadResult, load_documents
from events.spec.model import KafkaClusterDocument


def declarations_of(services: PortalServices, name: str, topic: str) -> TopicDeclarationsOut:
    """What was declared of a topic, also of one that is gone; nothing of one that was made outside.

    Raises ClusterNotFound, ApiError.
    """
    view = living(services, name)
    found = topic_declarations(services.store.read_stream(cluster_stream(view.uid)), topic)
    snapshot = services.fleet.clusters.last_snapshot(view.uid)
    if not found and (snapshot is None or topic not in snapshot.by_topic):
        then = f"kedge topics {name} lists them; one made a moment ago is in the next metadata."
        raise ApiError(404, "topic-not-found", f"{name} has no topic called {topic}", next_step=then)
    return topic_declarations_out(view, topic, found)


def topic_rollback_of(services: PortalServices, rights: Rights, name: str, topic: str, number: int) -> Rollback:
    """Works it out; nothing is done. Raises ClusterNotFound, ApiError, Forbidden, CommandRefused, ForgeFault."""
    living(services, name)
    view = services.cluster.commands.current(name)
    rights.require(Verb.DECLARE, traits_of(view.document), name)
    found = topic_declarations(services.store.read_stream(cluster_stream(view.uid)), topic)
    if not found:
        then = f"To have one kept that is in Kafka: kedge topic adopt {name} {topic}."
        raise CommandRefused("topic-not-kept", f"{name} has no declared topic called {topic}", then)
    wanted = next((one for one in found if one.number == number), None)
    if wanted is None:
        then = f"kedge topic history {name} {topic} lists those there are."
        raise ApiError(404, "declaration-not-found", f"{name}/{topic} has no declaration {number}", next_step=then)
    cluster, known = view.document, view.topics.by_name.get(topic)
    if cluster is None or known is None or known.tombstone:
        message = f"{topic} was deleted: going back would make a topic without its records"
        raise CommandRefused("topic-not-kept", message, "To have an empty one of that name, declare it again.")
    if known.declared == wanted.declared and not known.undeclared:
        then = f"kedge topic history {name} {topic} shows what was declared when."
        raise CommandRefused("in-force", f"{name}/{topic} is declared as declaration {number} has it", then)
    return _worked_out(services, view, cluster, known, wanted)


def _worked_out(
    services: PortalServices, view: ClusterView, cluster: KafkaClusterDocument, known: TopicView, wanted: NumberedTopic
) -> Rollback:
    number, topic = wanted.number, wanted.declared.name
    text = text_of(topic_data(cluster, wanted.declared))

    def says_it(loaded: LoadResult) -> bool:
        return [declaration_of(one, cluster) for one in loaded.topics] == [wanted.declared]

    loaded = load_documents(text, file="")
    if loaded.ok and not says_it(loaded):
        is_found = wanted.declared.config is None
        why = "it was adopted as it was found" if is_found else "its tier means something else by now"
        message = f"no document says what declaration {number} of {view.name}/{topic} was: {why}"
        raise CommandRefused("no-document", message, "Change the topic by its form, or declare what it is to be.")
    is_elsewhere = refuse_topic(view, topic, API) is not None
    source = known.source if is_elsewhere else API
    found = Rollback(view, number, APPLY, text, UNJUDGED, source, topic=topic)
    if not is_elsewhere:
        return replace(found, judged=judge(services, text, file=f"{topic} of declaration {number}"))
    origin = DeclarationOrigin(wanted.origin.source, wanted.origin.path, wanted.origin.commit)
    return through_git(services, found, Spec(text, says_it), path=known.path, origin=origin)
