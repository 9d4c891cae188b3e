"""Game days as the CLI tells them. The server plays them: whoever follows one may go away, and it goes on."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from rich.console import RenderableType

from controlplane.api.schemas import games as game_api
from controlplane.cli.errors import Unreachable
from controlplane.cli.tables import listing
from controlplane.runtime.styled_text import styled

LOOK_EVERY_S = 1.0


class Games(Protocol):
    """What following a game needs of the server."""

    def game(self, name: str, game: str) -> game_api.GameOut: ...


def follow(
    server: Games,
    begun: game_api.GameOut,
    *,
    sleep: Callable[[float], None],
    tell: Callable[[str], None],
) -> game_api.GameOut:
    """The report of a game that was started, once it is over; each fault is told meanwhile. A server that does not
    answer is waited for: it, or the one that leads after it, ends the game."""
    shown, judged, away, seen = 0, 0, False, begun
    while True:
        for played in seen.events[shown:]:
            shown += 1
            tell(f"{shown}/{seen.wanted}: {played.fault} of {played.vm}")
        for played in [e for e in seen.events if e.judged][judged:]:
            judged += 1
            tell(_played_line(played))
        if seen.ended_at is not None:
            return seen
        sleep(LOOK_EVERY_S)
        try:
            seen, away = server.game(seen.cluster, seen.game), False
        except Unreachable as gone:
            if not away:
                tell(f"{gone}; waiting for a server to tell how it went on")
            away = True


def report_lines(report: game_api.GameOut) -> Iterator[RenderableType]:
    """A line a fault, then the quantiles."""
    rows = [_row(e) for e in report.events]
    yield listing(["FAULT", "VM", "NOTICED AFTER", "HEALTHY AFTER", "BELOW MIN ISR", "FIRST SIGN"], rows)
    noticed, healed = (
        f"p50 {_seconds(p50)}, p95 {_seconds(p95)}"
        for p50, p95 in (
            (report.detected_p50_s, report.detected_p95_s),
            (report.healed_p50_s, report.healed_p95_s),
        )
    )
    yield f"noticed {noticed}; healthy {healed}; below min ISR {report.under_min_isr_s:g} s in all; seed {report.seed}"
    if report.ended_at is None:
        yield styled(report.sentence, "yellow")
    elif report.stopped:
        yield styled(f"ended early: {report.stopped}", "yellow")


def games_lines(games: Sequence[game_api.GameOut]) -> Iterator[RenderableType]:
    rows = [(g.game, f"{g.since:%Y-%m-%d %H:%M:%S}", str(g.seed), g.reason, g.sentence) for g in games]
    yield listing(["GAME", "BEGAN (UTC)", "SEED", "WHO AND WHY", "HOW IT STANDS"], rows)


def has_failed(report: game_api.GameOut) -> bool:
    """Whether some fault did not heal, or the game came to no good end."""
    return report.stopped.startswith("not in full health") or any(
        not e.judged or e.healed_s is None for e in report.events
    )


def _played_line(played: game_api.PlayedOut) -> str:
    seen = played.detected_s
    noticed = "not noticed" if seen is None else f"noticed after {seen:.1f} s ({played.first_sign})"
    ended = "did not heal" if played.healed_s is None else f"healthy after {played.healed_s:.1f} s"
    return f"  {noticed}, {ended}, {played.under_min_isr_s:.1f} s below min ISR"


def _row(event: game_api.PlayedOut) -> tuple[str, ...]:
    if not event.judged:
        return event.fault, event.vm, "", "not judged", "", ""
    below = f"{event.under_min_isr_s:g} s"
    return event.fault, event.vm, _seconds(event.detected_s), _seconds(event.healed_s), below, event.first_sign


def _seconds(value: float | None) -> str:
    return "never" if value is None else f"{value:g} s"
