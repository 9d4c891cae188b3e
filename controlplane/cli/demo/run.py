"""`kedge demo` from beginning to end, with its own server and its own cloud, both gone when it is over."""

import json
import os
import signal
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from types import FrameType

from rich.console import Console

from controlplane.cli import terminal
from controlplane.cli.demo import closing, figures as figures_of_time, report
from controlplane.cli.demo.chapters import TALES, DemoKind, Tale, shorter
from controlplane.cli.demo.house import DemoFailed, House
from controlplane.cli.demo.story import DemoStory, read_spec
from controlplane.cli.errors import CliError
from controlplane.kafka.errors import KafkaFault
from controlplane.runtime.atomic_file import replacing
from controlplane.runtime.styled_text import styled

HOME = Path(".kedge") / "demo"
INTERRUPTED = 130
_LOOK_S = 1.0


def run_demo(
    report_to: Path | None,
    *,
    kind: DemoKind = "secured",
    keep: bool = False,
    plain: bool = False,
    short: bool = False,
) -> int:
    """Runs a demo. Exit 0 when nothing was lost, nothing twice and min ISR held; 1 otherwise; 130 on Ctrl-C.

    With `keep` the cluster goes on after the audit, and its portal, until Ctrl-C; `short`: with less data.
    """
    animated = terminal.can_animate(os.environ, is_terminal=sys.stdout.isatty()) and not plain
    colour = terminal.wants_colour(os.environ, no_color=plain, is_terminal=sys.stdout.isatty())
    console = terminal.console(sys.stdout, os.environ, colour=colour, is_terminal=sys.stdout.isatty())
    tale = shorter(TALES[kind]) if short else TALES[kind]
    drawn = keep and figures_of_time.can_draw(Path.cwd())
    settings = {**(figures_of_time.ON if drawn else figures_of_time.OFF), **tale.settings}
    house = House((Path.cwd() / HOME).absolute(), _kafka_dir(), settings)
    # SIGINT too: a demo started in the background of a script would otherwise inherit that it is ignored.
    signal.signal(signal.SIGINT, _as_interrupt)
    signal.signal(signal.SIGTERM, _as_interrupt)
    left = ExitStack()
    left.callback(house.close)
    try:
        swept = house.sweep()
        if swept:
            console.print(f"ended {swept} processes that an earlier demo had left")
        story = DemoStory(house, console, spec=read_spec(tale.spec), file=str(tale.spec), animated=animated)
        left.callback(story.traffic.abandon)  # before the house: its threads ask the server where the brokers are
        figures = _tell(story, tale)
    except (DemoFailed, CliError, KafkaFault) as error:
        console.print(styled(f"the demo failed: {error}", "bold red"))
        console.print(f"the server's log is {house.log}")
        return 1
    except KeyboardInterrupt:
        console.print("interrupted: ending everything the demo started")
        return INTERRUPTED
    else:
        closing.show(console, figures)
        if report_to is not None:
            _write(report_to, closing.as_json(figures))
            console.print(f"report: {report_to}")
        if keep:
            _stay_open(console, house, figures_of_time.chart_words(story.name, drawn=drawn))
        return 0 if figures.is_good else 1
    finally:
        left.close()


def _stay_open(console: Console, house: House, chart: str) -> None:
    """The cluster and its portal go on until Ctrl-C."""
    console.print("the cluster goes on; Ctrl-C ends it, its VMs and its server")
    console.print(house.welcome())
    console.print(chart)
    with suppress(KeyboardInterrupt):
        while house.is_up:
            time.sleep(_LOOK_S)


def _tell(story: DemoStory, tale: Tale) -> closing.DemoFigures:
    began = time.monotonic()
    for number, chapter in enumerate(tale.chapters, 1):
        story.chapter(f"{number}. {chapter.title}", *chapter.lines)
        chapter.act(story)
    audit, min_isr = story.heard
    events = story.events()
    return closing.DemoFigures(
        audit=audit,
        min_isr=min_isr,
        replaced=report.replaced(events),
        plans=report.planned(events),
        rebalances=report.rebalanced(events),
        roll=report.roll(events, story.rolled),
        wall_s=time.monotonic() - began,
    )


def _kafka_dir() -> Path:
    return Path(os.environ.get("KEDGE_KAFKA_DIR", Path.cwd() / ".cache" / "kafka"))


def _write(path: Path, figures: object) -> None:
    with replacing(path.absolute()) as fresh:
        fresh.write_text(json.dumps(figures, indent=2) + "\n")


def _as_interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
