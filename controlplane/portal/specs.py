"""Validate, plan, apply: a spec file on its way into force. All documents of a file, or none."""

from dataclasses import dataclass, replace

from controlplane.admission import admission_problems
from controlplane.commands import DeclareCluster
from controlplane.handlers import CommandRefused, Outcome
from controlplane.planpreview import Preview, combined_digest, preview
from controlplane.portal.costs import priced
from controlplane.portal.services import PortalServices
from events.ids import derived_id
from events.spec.document import LoadResult, load_documents
from events.spec.model import KafkaClusterDocument
from events.spec.positions import Positions
from events.spec.problems import Problem, has_errors


@dataclass(frozen=True, slots=True)
class JudgedDocument:
    """One document with the warnings that stand in it, and what it would do."""

    document: KafkaClusterDocument
    positions: Positions
    warnings: tuple[str, ...]
    plan: Preview


@dataclass(frozen=True, slots=True)
class Judged:
    """A file as this installation sees it. `documents` is empty when a problem is an error."""

    file: str
    problems: tuple[Problem, ...]
    documents: tuple[JudgedDocument, ...]

    @property
    def ok(self) -> bool:
        return not has_errors(self.problems)

    @property
    def plans(self) -> tuple[Preview, ...]:
        return tuple(d.plan for d in self.documents)

    @property
    def digest(self) -> str:
        return combined_digest(plan.digest for plan in self.plans)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """How a file is applied: by whom, under which id, and whether only if its plans are still those."""

    actor: str
    command_id: str
    message: str = ""
    plan_digest: str | None = None
    dry_run: bool = False


def judge(services: PortalServices, text: str, *, file: str) -> Judged:
    """Reads a file, judges it against what is in force, and plans each document. Raises StoreUnavailable."""
    loaded = load_documents(text, file=file)
    problems, documents = list(loaded.problems), []
    for index, document in enumerate(loaded.documents if loaded.ok else ()):
        positions, warnings = loaded.positions[index], _warnings(loaded, index)
        view = services.commands.current(document.metadata.name)
        snapshot = services.fleet.last_snapshot(view.uid)
        problems += admission_problems(view, document, positions=positions, snapshot=snapshot)
        brake = services.brake(replace(view, document=document))
        plan = preview(view, document, snapshot=snapshot, warnings=warnings, brake=brake)
        plan = replace(plan, cost=priced(services, view, document, plan.rollout, snapshot))
        documents.append(JudgedDocument(document, positions, warnings, plan))
    return Judged(file, tuple(problems), () if has_errors(problems) else tuple(documents))


def declare(services: PortalServices, judged: Judged, order: Order) -> list[Outcome]:
    """Brings a judged file into force: every document is checked before the first one is recorded.

    A crash in between leaves some declared; the same order again declares the rest. Raises what
    `CommandHandler.handle` does.
    """
    pins = _pins(judged, order)
    commands = [_command(judged.file, d, pin, order) for d, pin in zip(judged.documents, pins, strict=True)]
    for command in commands:
        services.commands.check(command)
    return [] if order.dry_run else [services.commands.handle(command) for command in commands]


def _command(file: str, judged: JudgedDocument, pin: str | None, order: Order) -> DeclareCluster:
    name = judged.document.metadata.name
    return DeclareCluster(
        name=name,
        actor=order.actor,
        command_id=derived_id("apply", order.command_id, name),
        document=judged.document,
        source=": ".join(part for part in (file, order.message) if part),
        positions=judged.positions,
        warnings=judged.warnings,
        plan_digest=pin,
    )


def _pins(judged: Judged, order: Order) -> list[str | None]:
    if order.plan_digest is None:
        return [None] * len(judged.documents)
    pins = order.plan_digest.split("+")
    if len(pins) != len(judged.documents):
        message = f"the plan is of {len(pins)} clusters, the file declares {len(judged.documents)}"
        raise CommandRefused("plan-moved", message, "Plan again, and look at what it says now.")
    return list(pins)


def _warnings(loaded: LoadResult, index: int) -> tuple[str, ...]:
    """Warnings that stand in the document of that index, as a plan shows them."""
    starts = [where.at(()).line for where in loaded.positions]
    end = starts[index + 1] if index + 1 < len(starts) else None
    return tuple(
        f"{w.code}: {w.message}" for w in loaded.warnings if w.line >= starts[index] and (end is None or w.line < end)
    )
