"""A page that says in words what would happen, and asks for a yes: for some of it, for a name typed out.

The yes holds for what was said. Where that is something else by then, it is shown anew and nothing is recorded.
"""

import hashlib
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fastapi import Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from controlplane.api.access.bindings import traits_of
from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Verb
from controlplane.api.cluster_lookup import living
from controlplane.api.services import PortalServices
from controlplane.cluster.commands import CommandRefused, SpecRefused
from controlplane.cluster.view import ClusterView
from controlplane.commands.policies.decision import PolicyDecision
from controlplane.portal.frame import page
from events.spec.positions import NOWHERE

MOST_REASON = 200
"""Characters of a reason."""
_MOST = 20_000


class YesForm(BaseModel):
    """A yes. `seen` pins what was said; `key` is the command's id: sent twice it is recorded once.

    Texts may be longer than is taken, so that the page, and not an error, says so.
    """

    seen: str = Field(default="", max_length=64)
    confirm: str = Field(default="", max_length=_MOST)
    reason: str = Field(default="", max_length=_MOST)
    retain: bool = False
    accept: bool = False
    key: str = Field(default_factory=lambda: uuid.uuid4().hex, pattern="^[0-9a-f]{32}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """What is said before the yes. `pin` stands for what is in force.

    `told` are sentences the yes holds for, `figures` those that change by themselves; `text` is a file that would be
    declared. Without a `button` there is nothing to do. `typed` is the name to type, "" for none; `reasons`: why a
    second person must approve; `retain`: what a box says that keeps things, "" for none; `accept`: what one says that
    has to be ticked. `choices`: addresses, and in words what may be asked for there instead. `why_not`: why it would
    be refused as things are; there is no button then. `template`: of the page, which is drawn with `content` as well.
    """

    title: str
    crumbs: tuple[tuple[str, str], ...]
    pin: str
    sentences: tuple[str, ...]
    button: str = ""
    figures: tuple[str, ...] = ()
    text: str = ""
    typed: str = ""
    reasons: tuple[str, ...] = ()
    retain: str = ""
    accept: str = ""
    why_not: tuple[str, ...] = ()
    choices: tuple[tuple[str, str], ...] = ()
    keeps_reason: bool = True
    needs_reason: bool = False
    is_grave: bool = False
    template: str = "asking.html"
    content: Mapping[str, object] = field(default_factory=dict)

    @property
    def seen(self) -> str:
        """Stands for all that was said."""
        said = (self.title, self.pin, self.sentences, self.button, self.text, self.reasons)
        return hashlib.sha256(repr(said).encode()).hexdigest()

    @property
    def back(self) -> str:
        """Where a no leads."""
        return self.crumbs[-1][0]


def judged_now(services: PortalServices, rights: Rights, name: str, verb: Verb) -> ClusterView:
    """The cluster as its stream says now, for somebody who may do that to it. Raises ClusterNotFound, Forbidden."""
    living(services, name)
    view = services.cluster.commands.current(name)
    rights.require(verb, traits_of(view.document), name)
    return view


def show_asking(request: Request, asking: Asking) -> Response:
    """The page, before anything was typed."""
    return _page(request, asking, YesForm(), {})


def asked_and_answered(request: Request, asking: Asking, form: YesForm, done: Callable[[], Response]) -> Response:
    """What came of a yes by `done`, or the page again: 409 where something else would happen by now, 422 with what is
    wrong at its field.
    """
    if form.seen != asking.seen or not asking.button:
        return _page(request, asking, form, {}, has_moved=bool(asking.button), status=409)
    wrong = _wrong(asking, form)
    return _page(request, asking, form, wrong, status=422) if wrong else done()


def show_refusal(request: Request, asking: Asking, form: YesForm, refused: CommandRefused) -> Response:
    """The page again, with why nothing was recorded."""
    return _page(request, asking, form, {}, refusal=f"{refused}. {refused.what_next}".strip(), status=409)


def capital(sentence: str) -> str:
    """A sentence of the command line, as pages write it."""
    return sentence[0].upper() + sentence[1:]


def reserved_reasons(verdict: PolicyDecision) -> tuple[str, ...]:
    """Why somebody else must approve it. Raises SpecRefused where a policy refuses it, whoever agrees."""
    if verdict.refusals:
        raise SpecRefused([refusal.problem(NOWHERE) for refusal in verdict.refusals])
    return tuple(str(reason) for reason in verdict.reasons)


def _wrong(asking: Asking, form: YesForm) -> dict[str, str]:
    found = {}
    if asking.typed and form.confirm.strip() != asking.typed:
        what = "Nothing was typed" if not form.confirm.strip() else f"“{form.confirm.strip()[:80]}” is not its name"
        found["confirm"] = f"{what}: type {asking.typed}. Nothing was recorded."
    if asking.accept and not form.accept:
        found["accept"] = "It has to be accepted. Nothing was recorded."
    if asking.needs_reason and not form.reason.strip():
        found["reason"] = "A reason is needed. Nothing was recorded."
    if len(form.reason) > MOST_REASON:
        found["reason"] = f"It has {len(form.reason)} characters; {MOST_REASON} are kept. Nothing was recorded."
    return found


def _page(
    request: Request,
    asking: Asking,
    form: YesForm,
    wrong: Mapping[str, str],
    *,
    has_moved: bool = False,
    refusal: str = "",
    status: int = 200,
) -> Response:
    return page(
        request,
        asking.template,
        status=status,
        asking=asking,
        form=form,
        wrong=wrong,
        has_moved=has_moved,
        refusal=refusal,
        most_reason=MOST_REASON,
        **asking.content,
    )
