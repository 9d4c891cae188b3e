"""Who asks, and what they may do: judged here and nowhere else, for pages, API, search, counts and event streams."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from controlplane.api.access.bindings import EVERYTHING, TOKEN, Binding, Traits, traits_of
from controlplane.api.access.roles import ALLOWS, Role, Verb
from controlplane.api.access.sessions import BrowserSession
from controlplane.api.access.trail import Trail
from controlplane.cluster.view import ClusterView


class Forbidden(Exception):
    """The caller may look at it, but not do that. What now: ask somebody whose role allows it."""

    def __init__(self, what: str, needs: str) -> None:
        super().__init__(what)
        self.needs = needs


@dataclass(frozen=True, slots=True)
class Rights:
    """One caller with their bindings. `session` is set for people who came by the login page.

    The installation's token is an admin on everything: it lies in the server's home, readable by its owner alone.
    `limit` is what a token of theirs leaves of it, and `granted` what was bound to that token since: one of them and a
    binding of theirs must allow. `via` says how they proved who they are, and what
    is judged is noted in `trail` for the audit.
    """

    subject: str
    bindings: tuple[Binding, ...]
    session: BrowserSession | None = None
    limit: Binding | None = None
    via: str = ""
    granted: tuple[Binding, ...] = ()
    trail: Trail = field(default_factory=Trail, compare=False, repr=False)

    def may(self, verb: Verb, traits: Traits) -> bool:
        """Whether some binding allows it on such a cluster, and the token in use does too."""
        return all(any(verb in ALLOWS[b.role] and b.covers(traits) for b in bindings) for bindings in self._needed)

    def may_on(self, verb: Verb, view: ClusterView) -> bool:
        """The same, on a cluster as it is declared."""
        return self.may(verb, traits_of(view.document))

    def may_everywhere(self, verb: Verb) -> bool:
        """Whether it is allowed on everything, also on what is still to come."""
        return all(any(verb in ALLOWS[b.role] and b.scope == EVERYTHING for b in held) for held in self._needed)

    def same_as(self, other: "Rights") -> bool:
        """Whether both may the same: in roles of their own, and in what their token leaves and was given."""
        held = (set(self.bindings), self.limit, set(self.granted))
        return held == (set(other.bindings), other.limit, set(other.granted))

    @property
    def _needed(self) -> tuple[tuple[Binding, ...], ...]:
        """Each of these has to allow it: the person's bindings, and their token's where they came by one."""
        return (self.bindings,) if self.limit is None else (self.bindings, (self.limit, *self.granted))

    def require(self, verb: Verb, traits: Traits, what: str) -> None:
        """Raises Forbidden unless it is allowed; `what` names the thing in words."""
        may = self.may(verb, traits)
        self.trail.judged(verb, what, allowed=may)
        if not may:
            raise Forbidden(f"you may not {verb} {what}", _needs(verb))

    def require_somewhere(self, verb: Verb, what: str) -> None:
        """The same for what is no cluster's and no secret: whoever may do that anywhere may know."""
        may = all(any(verb in ALLOWS[b.role] for b in held) for held in self._needed)
        self.trail.judged(verb, what, allowed=may)
        if not may:
            raise Forbidden(f"you may not {verb} {what}", _needs(verb))

    def require_everywhere(self, verb: Verb, what: str) -> None:
        """The same for what concerns the whole installation."""
        may = self.may_everywhere(verb)
        self.trail.judged(verb, what, allowed=may)
        if not may:
            raise Forbidden(f"you may not {verb} {what}", f"{_needs(verb)} on everything (`*`)")


def whole_rights(
    subject: str, *, limit: Binding | None = None, via: str = "", granted: Iterable[Binding] = ()
) -> Rights:
    """Of the installation's token, and of machines whose routes check them on their own."""
    return Rights(
        subject, (Binding(subject, Role.ADMIN, EVERYTHING),), limit=limit, via=via, granted=_granted_to(via, granted)
    )


def rights_of(
    subject: str,
    bindings: Iterable[Binding],
    session: BrowserSession | None = None,
    *,
    groups: Iterable[str] = (),
    limit: Binding | None = None,
    via: str = "",
) -> Rights:
    """What the bindings of that subject and of their groups come to, by a token those of the token too."""
    known = tuple(bindings)
    theirs = {subject, *(f"group:{group}" for group in groups)}
    own = tuple(b for b in known if b.subject in theirs)
    return Rights(subject, own, session, limit, via, _granted_to(via, known))


def _granted_to(via: str, bindings: Iterable[Binding]) -> tuple[Binding, ...]:
    """What was bound to the token somebody came by (`token:ID`), nothing for whoever came otherwise."""
    return tuple(b for b in bindings if b.subject == via) if via.startswith(TOKEN) else ()


def _needs(verb: Verb) -> str:
    return "It takes the role " + " or ".join(role for role in Role if verb in ALLOWS[role])
