"""The judgement of a plan as people and machines read it."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import RenderableType

from controlplane.cli import drain_brokers, drain_check, drain_view, moves_view, state_inputs
from controlplane.commands.previews.drain_figures import MEASURES, broker_rows, certificate_rows
from controlplane.runtime.styled_text import styled
from events.quantities import counted

_MOST_SHOWN = 20
_SAME = 1e-6


def check_lines(given: state_inputs.Input, found: drain_check.JudgedDrain, *, wide: bool) -> Iterator[RenderableType]:
    """The verdict first, then the figures, then every rule broken."""
    replay = found.verdict.replay
    yield styled(*_sentence(found))
    yield ""
    yield moves_view.certificate_table(certificate_rows(found.verdict.measures))
    for line in untrue(found):
        yield styled(line, "yellow")
    if replay.violations:
        yield ""
        yield from (styled(f"  {violation}", "red") for violation in replay.violations[:_MOST_SHOWN])
        if len(replay.violations) > _MOST_SHOWN:
            yield f"  and {len(replay.violations) - _MOST_SHOWN} more: -o json has them all"
    if wide:
        yield ""
        yield drain_brokers.broker_table(broker_rows(given.state, found.schedule, replay), wide=True)


def check_document(given: state_inputs.Input, found: drain_check.JudgedDrain) -> Mapping[str, Any]:
    """The same for machines."""
    replay = found.verdict.replay
    return {
        "of": given.name,
        "plan": found.name,
        "holds": found.verdict.holds,
        "entries": len(found.schedule),
        "left_behind": replay.left_behind,
        "measures": drain_view.certificate_document(found.verdict.measures),
        "certificate_untrue": list(untrue(found)),
        "violations": [
            {"rule": v.rule.value, "subject": v.subject, "detail": v.detail, "at_s": v.at_s} for v in replay.violations
        ],
        "brokers": [drain_brokers.plain(row) for row in broker_rows(given.state, found.schedule, replay)],
    }


def untrue(found: drain_check.JudgedDrain) -> Iterator[str]:
    """Where the plan's own certificate says something else than the replay found."""
    for name in MEASURES if found.said is not None else ():
        said, is_so = getattr(found.said, name).value, getattr(found.verdict.measures, name).value
        if not math.isnan(said) and not math.isclose(said, is_so, rel_tol=_SAME):
            yield f"its certificate says {name} {said:g}, the replay found {is_so:g}"


def _sentence(found: drain_check.JudgedDrain) -> tuple[str, str]:
    replay = found.verdict.replay
    if found.verdict.holds:
        return f"{found.name} keeps every rule and leaves nothing behind", "bold green"
    faults = []
    if replay.violations:
        by_rule = Counter(v.rule.value for v in replay.violations)
        rules = ", ".join(f"{rule} {count} times" if count > 1 else rule for rule, count in sorted(by_rule.items()))
        faults.append(f"breaks {rules}")
    if replay.left_behind:
        faults.append(f"leaves {counted(replay.left_behind, 'replica')} on brokers that are to be emptied")
    return f"{found.name} {' and '.join(faults)}", "bold red"
