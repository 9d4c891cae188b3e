"""The plans of a spec that was judged, as text."""

from controlplane.api.presenters import clusters as answers
from controlplane.api.presenters.plan_text import plan_lines
from controlplane.api.specs import Judged


def words_of(judged: Judged) -> list[str]:
    """The plans of a file as text: what `kedge plan` shows."""
    lines = [line.plain for plan in judged.plans for line in plan_lines(answers.plan_out(plan))]
    return [*lines, *judged.topic_plan]
