"""A spec file as a pull request in the caller's name: of new things a new file, of one that is there its document."""

from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.api.change_requests import declared_file, request_change
from controlplane.api.presenters.judged_text import words_of
from controlplane.api.problems import ApiError
from controlplane.api.pull_requests import Requester, doors_for, request_new, require_declare
from controlplane.api.schemas.sources import PullRequestOut
from controlplane.api.services import PortalServices
from controlplane.api.specs import Judged, judge
from controlplane.cluster.commands import CommandRefused, UserDeclared
from controlplane.cluster.view import ClusterView


@dataclass(frozen=True, slots=True)
class SpecRequest:
    """What it would take: the git source it goes to, and the file that is changed, "" for a new one."""

    judged: Judged
    binding: str = ""
    path: str = ""
    opened: PullRequestOut | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecWish:
    """What somebody sends: a file, where it is to go ("": the one place there is), and the plan they looked at."""

    text: str
    file: str
    binding: str = ""
    plan_digest: str | None = None
    dry_run: bool = False


def spec_request(services: PortalServices, wish: SpecWish, asked: Requester) -> SpecRequest:
    """Opens it, or with `dry_run` says what it would take. Nothing is declared by it.

    A file with problems is an answer. Raises Forbidden, ForgeFault, StoreUnavailable, ApiError where the plan moved,
    and CommandRefused where there is no way.
    """
    judged = judge(services, wish.text, file=wish.file)
    asked.rights.trail.refused = judged.refusal
    if not judged.ok:
        return SpecRequest(judged)
    require_declare(services, judged, asked)
    if wish.plan_digest is not None and wish.plan_digest != judged.digest:
        message = "the plan is not what it was when it was agreed to"
        raise ApiError(409, "plan-moved", message, next_step="Plan again, and look at what it says now.")
    there = _there_already(services, judged)
    if not there and not any(_is_kept(services, one) for one in judged.users):
        return _new(services, judged, wish, asked)
    if any(_is_kept(services, one) for one in judged.users):
        message = "a pull request adds users, it does not change one that is there"
        raise CommandRefused("no-request", message, "Commit the file by hand, or declare it with kedge apply.")
    if len(judged.documents) + len(judged.topics) + len(judged.users) > 1:
        message = "a pull request adds new things, or changes one that is there"
        raise CommandRefused("one-change", message, "Send what is changed each in a file of its own.")
    return _change(services, judged, wish, asked, *there[0])


def _new(services: PortalServices, judged: Judged, wish: SpecWish, asked: Requester) -> SpecRequest:
    bindings = tuple(door.binding.name for door in doors_for(services, judged))
    binding = wish.binding or (bindings[0] if len(bindings) == 1 else "")
    if binding not in bindings:
        raise _nowhere(binding, bindings)
    if wish.dry_run:
        return SpecRequest(judged, binding)
    opened = request_new(services, judged, wish.text, asked, binding=binding)
    return SpecRequest(judged, binding, opened=opened)


def _change(
    services: PortalServices, judged: Judged, wish: SpecWish, asked: Requester, view: ClusterView, topic: str
) -> SpecRequest:
    if all(not plan.changes for plan in judged.plans) and not judged.plan_beside:
        raise CommandRefused("in-force", "what it says is in force already", "Change something, or leave it.")
    file = declared_file(services, view, topic, judged)
    if file is None:
        name = f"{view.name}/{topic}" if topic else view.name
        message = f"{name} is not declared in git, or its source names no forge that you may have changed"
        raise CommandRefused("no-forge", message, "Commit the file by hand, or declare it with kedge apply.")
    if wish.binding and wish.binding != file.door.binding.name:
        message = f"{file.name} is declared by git:{file.door.binding.name}"
        raise CommandRefused("other-source", message, "Leave the source out: a change goes where it is declared.")
    if wish.dry_run:
        return SpecRequest(judged, file.door.binding.name, file.path)
    opened = request_change(services, file, wish.text, judged, asked, words_of(judged))
    return SpecRequest(judged, file.door.binding.name, file.path, opened)


def _there_already(services: PortalServices, judged: Judged) -> list[tuple[ClusterView, str]]:
    """Clusters of a file that live, and topics of it that are kept, each with its cluster."""
    current = services.cluster.commands.current
    found = [(current(plan.cluster), "") for plan in judged.plans if plan.exists]
    for one in judged.topics:
        view = current(one.document.spec.cluster)
        known = view.topics.by_name.get(one.document.topic)
        if known is not None and not known.tombstone:
            found.append((view, one.document.topic))
    return found


def _is_kept(services: PortalServices, one: UserDeclared) -> bool:
    return one.document.user in services.cluster.commands.current(one.document.spec.cluster).users.by_name


def _nowhere(binding: str, bindings: Sequence[str]) -> CommandRefused:
    if bindings and not binding:
        some = ", ".join(bindings)
        return CommandRefused("which-source", f"it could go to several sources: {some}", "Name one of them.")
    where = f"git:{binding} does not take" if binding else "no git source with a forge takes"
    then = "Its verbs, team and accounts are in kedge.toml. Commit the file by hand, or declare it with kedge apply."
    return CommandRefused("no-forge", f"{where} what this file declares", then)
