"""What the chapters of a demo are made of: each as a person would do it with the command line."""

import re
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.rule import Rule

from controlplane.api.presenters.plan_text import plan_lines
from controlplane.api.schemas import chaos as chaos_api, clusters as api, commands as command_api, specs as spec_api
from controlplane.cli.demo import certificates, report, spark_wait, traffic, users
from controlplane.cli.demo.house import DemoFailed, House
from controlplane.cli.progress import RollProgress
from controlplane.cli.waiter import Target, Waiter
from controlplane.cli.waiting import Converged, Done, Goal, NodeReplaced, Rebalanced
from controlplane.kafka.audit import Audit
from controlplane.kafka.min_isr import MinIsrReport
from controlplane.runtime.styled_text import styled

FILL_MIB = 96
SECOND_FILL_MIB = 48
ROLL_WITHIN_S = 600.0
HEALTHY_WITHIN_S = 60.0


class DemoStory:
    """Tells and does. `spec` is the text of the cluster's spec; every change is a change of that text."""

    def __init__(self, house: House, console: Console, *, spec: str, file: str, animated: bool) -> None:
        self._house = house
        self._console = console
        self._spec = spec
        self._file = file
        self._animated = animated
        self._certificates_shown = 0
        self._heard: tuple[Audit, MinIsrReport] | None = None
        self.rolled = 0
        """The generation of the version roll, 0 before it."""
        self.name = _name_in(spec)
        self.traffic = traffic.DemoTraffic(self.bootstrap, topic="orders")

    @property
    def heard(self) -> tuple[Audit, MinIsrReport]:
        """What the audit found."""
        if self._heard is None:
            raise DemoFailed("the demo has had no audit")
        return self._heard

    def bootstrap(self) -> Sequence[str]:
        """Where clients find the cluster, as the server publishes it."""
        return self._house.client.endpoints(self.name).bootstrap

    def chapter(self, title: str, *lines: str) -> None:
        """A headline and what a newcomer should know about what comes."""
        self._console.print()
        self._console.print(
            Rule(styled(title, "bold"), align="left") if self._animated else styled(f"== {title}", "bold")
        )
        for line in lines:
            self._console.print(styled(line, "dim"))

    def tell(self, text: str) -> None:
        self._console.print(styled(text))

    def open(self) -> Path:
        """Starts the server. Returns its home."""
        self._house.open()
        return self._house.home

    def change(self, pattern: str, replacement: str) -> None:
        """Edits the spec. Raises DemoFailed when the pattern is not there exactly once."""
        changed, times = re.subn(pattern, replacement, self._spec, flags=re.MULTILINE)
        if times != 1:
            raise DemoFailed(f"{self._file}: expected {pattern!r} once, found it {times} times")
        self._spec = changed

    def apply(self) -> spec_api.AppliedOut:
        """Shows the plan, declares, and waits until the cluster is as declared."""
        client = self._house.client
        spec = spec_api.SpecIn(text=self._spec, file=self._file)
        plans = client.plan(spec)
        if not plans.ok:
            raise DemoFailed("; ".join(p.message for p in plans.problems))
        for plan in plans.plans:
            for line in plan_lines(plan):
                self._console.print(line)
        order = spec_api.ApplyIn(text=self._spec, file=self._file, plan_digest=plans.plans[0].digest, message="demo")
        applied = client.apply(order).applied[0]
        self._wait(Converged(applied.generation, applied.uid))
        self._tell_certificates()
        return applied

    def roll(self) -> None:
        """Declares what is the demo's roll to another version, and waits for it."""
        self.rolled = self.apply().generation

    def declare_users(self, file: Path) -> None:
        """Shows the plan of the users in a file, declares them, waits until Kafka has them, and signs in as they."""
        client, text = self._house.client, read_spec(file)
        plans = client.plan(spec_api.SpecIn(text=text, file=str(file)))
        if not plans.ok:
            raise DemoFailed("; ".join(p.message for p in plans.problems))
        for line in plans.users:
            self._console.print(line)
        client.apply(spec_api.ApplyIn(text=text, file=str(file), message="demo"))
        began = time.monotonic()
        declared = users.wait_for_users(client, self.name)
        self.tell(f"{len(declared)} users are as declared after {time.monotonic() - began:.0f} s")
        self.traffic.clients = users.clients_of(client, self.name, self._house.home / "orders-ca.pem")
        self.tell("their passwords are taken, which works once: Kedge keeps none of them")

    def show_refusals(self, topic: str) -> None:
        """Who may not write to a topic is not let in."""
        for who, answer in users.refusals(",".join(self.bootstrap()), self.traffic.clients, topic).items():
            self.tell(f"{who} writes to `{topic}`: {answer}")

    def kill_vm_of(self, service: str) -> None:
        """Has the VM of the first node with this service killed; waits until its successor serves and all is well."""
        self._wait_for_health()
        detail = self._house.client.cluster(self.name)
        victim = next(i for i in detail.instances if i.service == service)
        order = chaos_api.ChaosIn(fault="kill-vm", for_s=1, vms=[victim.key], reason="demo")
        self.tell(f"kedge chaos {self.name} kill-vm --vm {victim.key}")
        self._house.client.inject_chaos(self.name, order)
        self._wait(NodeReplaced(victim.node, victim.key, detail.uid))

    def audit(self) -> None:
        """Ends the traffic and reads everything back."""
        self._heard = self.traffic.end()

    def wait_for_balance(self) -> None:
        """Until brokers that came have their share of what is there, or were found to need none."""
        self._wait(Rebalanced(self._house.client.cluster(self.name).uid))

    def wait_for_spark(self) -> None:
        """The planning worker's session takes some seconds to come up; the demo is to show Spark."""
        waiting = spark_wait.SparkWait(time.monotonic())
        while (planner := self._house.client.version().planner) != "spark":
            if reason := waiting.given_up(planner, time.monotonic()):
                raise DemoFailed(f"Spark is not up: {reason}\n{self._house.tail()}")
            time.sleep(0.5)

    def events(self) -> list[api.EventOut]:
        """The cluster's whole history."""
        found: list[api.EventOut] = []
        while True:
            page = self._house.client.events(self.name, after=found[-1].position if found else 0, limit=500)
            found.extend(page.events)
            if len(page.events) < 500:
                return found

    def delete(self) -> None:
        """The tombstone, with the name typed out, and the end of every VM."""
        self._house.client.delete(self.name, command_api.DeleteIn(confirm=self.name, reason="the demo is over"))

    def _wait_for_health(self) -> None:
        """Faults are for a cluster in full health; the server's last look at Kafka may be from before the roll."""
        deadline = time.monotonic() + HEALTHY_WITHIN_S
        while not (health := self._house.client.health(self.name)).healthy:
            if time.monotonic() > deadline:
                raise DemoFailed(f"{self.name} is not fully healthy after {HEALTHY_WITHIN_S:.0f} s: {health.why}")
            time.sleep(0.5)

    def _tell_certificates(self) -> None:
        """Each drain plan once, when what it was for is over."""
        plans = report.planned(self.events())
        for plan in plans[self._certificates_shown :]:
            self.tell(certificates.certificate_line(plan))
        self._certificates_shown = len(plans)

    def _wait(self, goal: Goal) -> None:
        began = time.monotonic()
        with RollProgress(self._console, animated=self._animated, monotonic=time.monotonic) as progress:
            waiter = Waiter(self._house.client.cluster, progress, monotonic=time.monotonic, sleep=time.sleep)
            result = waiter.wait([Target(self.name, goal)], timeout_s=ROLL_WITHIN_S)[0]
        if not isinstance(result.outcome, Done):
            raise DemoFailed(f"{self.name} was not {goal}: {result.outcome}\n{self._house.tail()}")
        self.tell(f"{result.outcome.sentence} after {time.monotonic() - began:.0f} s")


def read_spec(file: Path) -> str:
    """The spec the demo starts from."""
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise DemoFailed(f"{file} cannot be read ({error.strerror}): run the demo from a checkout of Kedge") from error


def _name_in(spec: str) -> str:
    found = re.search(r"^metadata:\s*\n\s+name:\s*(\S+)", spec, flags=re.MULTILINE)
    if found is None:
        raise DemoFailed("the demo's spec has no metadata.name")
    return found.group(1)
