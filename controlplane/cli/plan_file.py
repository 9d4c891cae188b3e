"""A plan on disk: what a person was shown, with its spec, so that `apply` does exactly that or nothing."""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from controlplane.api.schemas.specs import PlanOut, PlansOut
from controlplane.cli.errors import CliError
from controlplane.cli.spec_file import SpecFile
from controlplane.runtime.atomic_file import replacing
from events.quantities import named

_MARK = b'"kind": "SavedPlan"'


class SavedPlan(BaseModel):
    """The file `kedge plan -o FILE` writes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    apiVersion: Literal["kedge.cli/v1"] = "kedge.cli/v1"  # noqa: N815  # the name it has in the file
    kind: Literal["SavedPlan"] = "SavedPlan"
    saved_at: datetime
    file: str
    spec_sha256: str
    spec: str
    digest: str
    plans: list[PlanOut]
    topics: list[str] = []
    users: list[str] = []
    failovers: list[str] = []

    def shown(self, now: PlansOut) -> PlansOut:
        """What the person saw when it was saved, beside what is planned now."""
        names = ("plans", "topics", "users", "failovers", "digest")
        was = {name: getattr(self, name) for name in names}
        return now.model_copy(update=was)


def save_plan(path: Path, spec: SpecFile, planned: PlansOut, *, now: datetime) -> None:
    """Writes the file, whole or not at all, readable by its owner only. Raises CliError."""
    saved = SavedPlan(
        saved_at=now,
        file=spec.name,
        spec_sha256=_sha256(spec.text),
        spec=spec.text,
        digest=planned.digest,
        plans=planned.plans,
        topics=planned.topics,
        users=planned.users,
        failovers=planned.failovers,
    )
    try:
        with replacing(path) as fresh:
            fresh.write_text(saved.model_dump_json(indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise CliError("cannot save the plan", where=str(path), why=error.strerror or "") from None


def saved_plan_in(file: SpecFile) -> SavedPlan | None:
    """The saved plan a file holds, None when it is something else. Raises CliError for a damaged one."""
    if not file.content.lstrip().startswith(b"{") or _MARK not in file.content[:400]:
        return None
    again = f"make it again: kedge plan -f SPEC -o {file.name}"
    try:
        saved = SavedPlan.model_validate_json(file.content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        why = f"{'.'.join(str(step) for step in first['loc'])}: {first['msg']}"
        raise CliError("the saved plan cannot be read", where=file.name, why=why, next_step=again) from None
    if _sha256(saved.spec) != saved.spec_sha256:
        why = "the spec in it is not the one that was planned"
        raise CliError("the saved plan was changed by hand", where=file.name, why=why, next_step=again)
    return saved


def moved(saved: PlanOut, now: PlanOut) -> list[str]:
    """What is different now, in words; empty when the digest is the same."""
    if saved.digest == now.digest:
        return []
    reasons = []
    if saved.generation != now.generation:
        reasons.append(f"it would become generation {now.generation}, not {saved.generation}: another spec was applied")
    if saved.changes != now.changes:
        reasons.append(f"the changed fields are others: {_named([c.path for c in now.changes])}")
    if _steps(saved) != _steps(now):
        reasons.append(f"the steps are others: {_named(_steps(now))}")
    if saved.warnings != now.warnings:
        reasons.append(f"the warnings are others: {_named(now.warnings)}")
    return reasons or [f"what is in force on the cluster is not what it was ({saved.digest} -> {now.digest})"]


def moved_lines(before: Sequence[str], now: Sequence[str]) -> list[str]:
    """What is different of topics or users now, in words; empty when each would become what it would have become."""
    gone = [line for line in before if line not in now]
    fresh = [line for line in now if line not in before]
    changes = [f"not any more: {_named(gone)}"] if gone else []
    return changes + ([f"now: {_named(fresh)}"] if fresh else [])


def _steps(plan: PlanOut) -> list[str]:
    return [f"{step.change} {step.node}" for phase in plan.phases for step in phase.steps]


def _named(items: list[str], most: int = 4) -> str:
    if not items:
        return "none"
    return named(items, most)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
