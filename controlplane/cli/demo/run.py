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

from controlplane.atomicfile import replacing
from controlplane.cli import terminal
from controlplane.cli.demo import closing, report
from controlplane.cli.demo.house import DemoFailed, House
from controlplane.cli.demo.story import FILL_MIB, SECOND_FILL_MIB, Story, read_spec
from controlplane.cli.errors import CliError
from controlplane.kafka.errors import KafkaFault

SPEC = Path("examples") / "orders.yaml"
HOME = Path(".kedge") / "demo"
INTERRUPTED = 130
_LOOK_S = 1.0


def run_demo(report_to: Path | None, *, keep: bool = False, plain: bool = False) -> int:
    """Runs the demo. Exit 0 when nothing was lost, nothing twice and min ISR held; 1 otherwise; 130 on Ctrl-C.

    With `keep` the cluster goes on after the audit, and its portal, until Ctrl-C.
    """
    animated = terminal.can_animate(os.environ, is_terminal=sys.stdout.isatty()) and not plain
    colour = terminal.wants_colour(os.environ, no_color=plain, is_terminal=sys.stdout.isatty())
    console = terminal.console(sys.stdout, os.environ, colour=colour, is_terminal=sys.stdout.isatty())
    house = House((Path.cwd() / HOME).absolute(), _kafka_dir())
    # SIGINT too: a demo started in the background of a script would otherwise inherit that it is ignored.
    signal.signal(signal.SIGINT, _as_interrupt)
    signal.signal(signal.SIGTERM, _as_interrupt)
    left = ExitStack()
    left.callback(house.close)
    try:
        swept = house.sweep()
        if swept:
            console.print(f"ended {swept} processes that an earlier demo had left")
        story = Story(house, console, spec=read_spec(SPEC), file=str(SPEC), animated=animated)
        left.callback(story.traffic.abandon)  # before the house: its threads ask the server where the brokers are
        figures = _tell(story, house)
    except (DemoFailed, CliError, KafkaFault) as error:
        console.print(terminal.styled(f"the demo failed: {error}", "bold red"))
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
            _stay_open(console, house)
        return 0 if figures.is_good else 1
    finally:
        left.close()


def _stay_open(console: Console, house: House) -> None:
    """The cluster and its portal go on until Ctrl-C."""
    console.print("the cluster goes on; Ctrl-C ends it, its VMs and its server")
    console.print(house.welcome())
    with suppress(KeyboardInterrupt):
        while house.is_up:
            time.sleep(_LOOK_S)


def _tell(story: Story, house: House) -> closing.Figures:
    began = time.monotonic()
    story.chapter(
        "1. A server",
        "`kedge server`: the API, the converger that never sleeps, and a planning worker that owns a Spark session.",
    )
    house.open()
    story.tell(f"it listens; its home is {house.home}")

    story.chapter(
        "2. A spec becomes a cluster",
        f"{SPEC} asks for 3 brokers and 3 KRaft controllers on Kafka 4.1.1 in three zones. Terraform makes six VMs",
        "(process groups with an address and a disk each); the agent on each VM starts what its document says.",
    )
    story.apply()

    story.chapter(
        "3. Traffic",
        f"topic `orders` (RF 3, min ISR 2) gets {FILL_MIB} MiB; then an idempotent acks=all producer and a consumer",
        "keep running to the end. Every record has a name, so that none can be lost or doubled unseen.",
    )
    written = story.traffic.begin(FILL_MIB)
    story.tell(f"{written} records written; traffic runs")
    story.wait_for_spark()

    story.chapter(
        "4. A changed spec rolls every VM",
        "4.1.1 -> 4.2.0. Brokers, one rack at a time: a new VM joins, Spark plans the drain, replicas move under",
        "throttle, clients get time to notice, the old broker stops and its VM goes. Controllers are handed over:",
        "same id, same volume, same address. Then the feature levels are finalised.",
    )
    story.change(r"^(\s+version:\s*)4\.1\.1$", r"\g<1>4.2.0")
    rolled = story.apply()

    story.chapter(
        "5. Three brokers become six",
        "three VMs more get their share of what is there; then a second topic is created and filled.",
    )
    story.change(r"(name: brokers\s+services: \[broker\]\s+size: )3$", r"\g<1>6")
    story.apply()
    story.wait_for_balance()
    added = story.traffic.add_topic("payments", SECOND_FILL_MIB)
    story.tell(f"topic `payments`: {added} records written")

    story.chapter("6. Six become three", "the newest leave: emptied in one plan, stopped, deleted.")
    story.change(r"(name: brokers\s+services: \[broker\]\s+size: )6$", r"\g<1>3")
    story.apply()

    story.chapter("7. The audit", "everything is read again from offset 0, and compared with what was acknowledged.")
    audit, min_isr = story.traffic.end()
    events = story.events()
    return closing.Figures(
        audit=audit,
        min_isr=min_isr,
        replaced=report.replaced(events),
        plans=report.planned(events),
        roll=report.roll(events, rolled.generation),
        wall_s=time.monotonic() - began,
    )


def _kafka_dir() -> Path:
    return Path(os.environ.get("KEDGE_KAFKA_DIR", Path.cwd() / ".cache" / "kafka"))


def _write(path: Path, figures: object) -> None:
    with replacing(path.absolute()) as fresh:
        fresh.write_text(json.dumps(figures, indent=2) + "\n")


def _as_interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
