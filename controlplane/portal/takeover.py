"""Who declares a cluster's spec from here on, a git binding or these pages: what that means, then the yes."""

from dataclasses import replace
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import Response

from controlplane.api.access.caller import Caller
from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Verb
from controlplane.api.request_identity import heading_of
from controlplane.api.routes.sources import handed_over
from controlplane.api.services import PortalServices, Services
from controlplane.background.git_sync.binding import GitBinding
from controlplane.background.git_sync.service import SourceNotFound
from controlplane.cluster.commands import CommandRefused, TakeOverSource
from controlplane.cluster.spec_source import binding_of, git_source, source_name
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.source import API
from controlplane.commands.deciders.declarations import source_taken_over
from controlplane.portal.confirmation import Asking, YesForm, asked_and_answered, capital, judged_now, show_asking
from controlplane.portal.frame import CsrfChecked, onwards

router = APIRouter(
    prefix="/clusters/{name}/take-over", tags=["pages"], include_in_schema=False, dependencies=[CsrfChecked]
)

Yes = Annotated[YesForm, Form()]
To = Annotated[str, Query(max_length=100, description="`api` or `git:BINDING`; without it git's is taken over")]


@router.get("")
def asks_to_take_over(request: Request, name: str, services: Services, rights: Caller, to: To = "") -> Response:
    """What would change its spec from then on, and what not. Records nothing; raises CommandRefused, SourceNotFound."""
    view = judged_now(services, rights, name, Verb.HAND_OVER)
    return show_asking(request, _asking(services, view, to, _command(view, rights, to, YesForm())))


@router.post("")
def takes_over(request: Request, name: str, services: Services, rights: Caller, form: Yes, to: To = "") -> Response:
    """From here on the spec is changed there, and nowhere else."""
    view = judged_now(services, rights, name, Verb.HAND_OVER)
    command = _command(view, rights, to, form)

    def done() -> Response:
        handed_over(services, command)
        return onwards(request, f"/clusters/{name}")

    return asked_and_answered(request, _asking(services, view, to, command), form, done)


def _command(view: ClusterView, rights: Rights, to: str, form: YesForm) -> TakeOverSource:
    source = to or API
    return TakeOverSource(**heading_of(rights, view.name, form.key), source=source, reason=form.reason)


def _asking(services: PortalServices, view: ClusterView, to: str, command: TakeOverSource) -> Asking:
    """By the function the handler asks. Raises CommandRefused, SourceNotFound."""
    if view.requests.tombstone:
        raise CommandRefused("being-deleted", f"{view.name} is being deleted", "There is no spec to take over.")
    asked = source_taken_over(view, command)
    begun = Asking(
        title=f"{'Hand' if command.source != API else 'Take'} over the spec of {view.name}",
        crumbs=((f"/clusters/{view.name}", view.name),),
        # The stream moves with every tick that records something; who the spec comes from does not.
        pin=f"{view.uid}.{view.declaration.source.taken if view.declaration.source else 0}.{command.source}",
        sentences=(asked.sentence,),
    )
    if command.source != API:
        binding = _binding(services, command.source)
        if asked.fact is None:
            return begun
        return replace(begun, sentences=_to_git(view, binding, asked.sentence), button="Hand it over")
    if asked.fact is None or view.declaration.source is None:
        return replace(begun, choices=() if to else _choices(services, view))
    return replace(
        begun, sentences=_to_api(view, view.declaration.source.address, asked.sentence), button="Take it over"
    )


def _to_api(view: ClusterView, address: str, sentence: str) -> tuple[str, ...]:
    source = source_name(view)
    return (
        f"Now it comes from {address}. {capital(sentence)}: it is changed on these pages, with `kedge apply` and "
        "through the API",
        f"Nothing rolls for it: generation {view.generation} stays in force, and the loop goes on with what is in hand",
        f"Commits do not change it any more. While a file of {source} declares it, each poll refuses that whole file "
        "and says so under Sources: remove its document there",
        "It can then be deleted although the file is there",
        f"Back again: this page, with {source}, or `kedge take-over {view.name} --to {source}`",
    )


def _to_git(view: ClusterView, binding: GitBinding, sentence: str) -> tuple[str, ...]:
    folder = f", folder {binding.path}" if binding.path else ""
    sentences = [
        f"{capital(sentence)}: {binding.repository}, branch {binding.branch}{folder}. These pages, `kedge apply` and "
        "the API change it no more",
        f"Nothing rolls for the hand-over itself: generation {view.generation} stays in force until a file there "
        f"declares {view.name}. What that file says otherwise is carried out as soon as it is read",
        "Until a file declares it, the cluster says that its source does not; nothing is ever destroyed for a missing "
        "file",
        "While a file there declares it, it cannot be deleted",
    ]
    owner = view.document.metadata.owner if view.document else ""
    if binding.team and binding.team != owner:
        sentences.append(
            f"Its team is {owner or 'nobody'} and the binding is of {binding.team}: a file that does not say so is "
            "refused, and one that does changes the team"
        )
    if "change" not in binding.verbs:
        sentences.append("Commits of this binding may not change clusters: until that is set otherwise, nobody could")
    return (*sentences, f"Back again: this page, or `kedge take-over {view.name} --to {API}`")


def _binding(services: PortalServices, source: str) -> GitBinding:
    """Raises SourceNotFound, also for one that the caller may not read."""
    name = binding_of(source)
    if services.fleet.sources is None or not name:
        raise SourceNotFound(name or source)
    return services.fleet.sources.status(name).binding


def _choices(services: PortalServices, view: ClusterView) -> tuple[tuple[str, str], ...]:
    """The bindings it may be handed over to."""
    statuses = services.fleet.sources.statuses() if services.fleet.sources is not None else ()
    sources = [(git_source(s.binding.name), s.binding) for s in statuses]
    home = f"/clusters/{view.name}/take-over"
    return tuple(
        (f"{home}?{urlencode({'to': source})}", f"hand it over to {source}: {b.repository}, branch {b.branch}")
        for source, b in sources
    )
