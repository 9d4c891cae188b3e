"""Commands whose `dry_run` says what would come of them, to whoever may ask for them."""

from collections.abc import Callable
from typing import TypeVar

from controlplane.api.access.bindings import traits_of
from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Verb
from controlplane.api.cluster_lookup import living
from controlplane.api.given_commands import carry_out
from controlplane.api.schemas.commands import CommandOut
from controlplane.api.services import PortalServices
from controlplane.cluster.commands import Command
from controlplane.cluster.view import ClusterView
from controlplane.commands.deciders.decision import CommandDecision
from controlplane.commands.deciders.lookups import Lookups

C = TypeVar("C", bound=Command)


def carry_out_or_say(
    services: PortalServices,
    rights: Rights,
    command: C,
    decide: Callable[[ClusterView, C, Lookups], CommandDecision],
    *,
    dry_run: bool,
) -> CommandOut:
    """Carries the command out, or with `dry_run` records nothing and says what `decide` makes of it."""
    if not dry_run:
        return carry_out(services, command)
    view = living(services, command.name)
    rights.require(Verb.STEER, traits_of(view.document), view.name)
    known = Lookups(kafka=services.fleet.clusters.last_snapshot(view.uid), judge=services.cluster.judge)
    decided = decide(view, command, known)
    return CommandOut(cluster=view.name, changed=decided.fact is not None, sentence=decided.sentence)
