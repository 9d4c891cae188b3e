"""Who asks, and what they may do: judged here and nowhere else, for pages, API, search, counts and event streams."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from controlplane.portal.access.bindings import EVERYTHING, Binding, Traits, traits_of
from controlplane.portal.access.roles import ALLOWS, Role, Verb
from controlplane.portal.access.sessions import Session
from controlplane.portal.access.trail import Trail
from controlplane.view import ClusterView


class Forbidden(Exception):
    """The caller may look at it, but not do that. What now: ask somebody whose role allows it."""

    def __init__(self, what: str, needs: str) -> None:
        super().__init__(what)
        self.needs = needs


@dataclass(frozen=True, slots=True)
class Rights:
    """One caller with their bindings. `session` is set for people who came by the login page.

    The installation's token is an admin on everything: it lies in the server's home, readable by its owner alone.
    `limit` is what a token of theirs leaves of it: both must allow. `via` says how they proved who they are, and what
    is judged is noted in `trail` for the audit.
    """

    subject: str
    bindings: tuple[Binding, ...]
    session: Session | None = None
    limit: Binding | None = None
    via: str = ""
    trail: Trail = field(default_factory=Trail, compare=False, repr=False)

    def may(self, verb: Verb, traits: Traits) -> bool:
        """Whether some binding allows it on such a cluster, and the token in use does too."""
        leaves = self.limit is None or (verb in ALLOWS[self.limit.role] and self.limit.covers(traits))
        return leaves and any(verb in ALLOWS[b.role] and b.covers(traits) for b in self.bindings)

    def may_on(self, verb: Verb, view: ClusterView) -> bool:
        """The same, on a cluster as it is declared."""
        return self.may(verb, traits_of(view.document))

    def may_everywhere(self, verb: Verb) -> bool:
        """Whether it is allowed on everything, also on what is still to come."""
        both = (self.bindings, self.bindings if self.limit is None else (self.limit,))
        return all(any(verb in ALLOWS[b.role] and b.scope == EVERYTHING for b in bindings) for bindings in both)

    def require(self, verb: Verb, traits: Traits, what: str) -> None:
        """Raises Forbidden unless it is allowed; `what` names the thing in words."""
        may = self.may(verb, traits)
        self.trail.judged(verb, what, allowed=may)
        if not may:
            raise Forbidden(f"you may not {verb} {what}", _needs(verb))

    def require_everywhere(self, verb: Verb, what: str) -> None:
        """The same for what concerns the whole installation."""
        may = self.may_everywhere(verb)
        self.trail.judged(verb, what, allowed=may)
        if not may:
            raise Forbidden(f"you may not {verb} {what}", f"{_needs(verb)} on everything (`*`)")


def whole_rights(subject: str, *, limit: Binding | None = None, via: str = "") -> Rights:
    """Of the installation's token, and of machines whose routes check them on their own."""
    return Rights(subject, (Binding(subject, Role.ADMIN, EVERYTHING),), limit=limit, via=via)


def rights_of(
    subject: str,
    bindings: Iterable[Binding],
    session: Session | None = None,
    *,
    groups: Iterable[str] = (),
    limit: Binding | None = None,
    via: str = "",
) -> Rights:
    """What the bindings of that subject and of their groups come to."""
    theirs = {subject, *(f"group:{group}" for group in groups)}
    return Rights(subject, tuple(b for b in bindings if b.subject in theirs), session, limit, via)


def _needs(verb: Verb) -> str:
    return "It takes the role " + " or ".join(role for role in Role if verb in ALLOWS[role])
