"""The plans of a spec that was judged, as text."""

from controlplane.api.presenters import specs as spec_answers
from controlplane.api.presenters.plan_text import plan_lines
from controlplane.api.specs import Judged


def words_of(judged: Judged) -> list[str]:
    """The plans of a file as text: what `kedge plan` shows."""
    lines = [line.plain for plan in judged.plans for line in plan_lines(spec_answers.plan_out(plan))]
    return [*lines, *judged.plan_beside]
