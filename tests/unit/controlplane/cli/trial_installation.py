"""A server at a cloud whose clusters come and go as they are looked at: what `kedge cloud verify` walks along."""

import json
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any

import httpx
import yaml
from pydantic import BaseModel

from controlplane.api.schemas import (
    clusters as api,
    commands as command_api,
    costs as cost_api,
    doctor as doctor_api,
    networks as network_api,
    specs as spec_api,
    system as system_api,
)
from tests.unit.controlplane.cli.cli_world import START, condition, detail, instance, plan_of, plans_of, problem
from tests.unit.controlplane.cli.test_cli_networks import a_network, listed

NAME = "verify-hetzner"
_MADE = ("requested", "launched", "enrolled", "joined")


class Killed(BaseException):
    """The command's process ends here, and does nothing any more."""


@dataclass
class TrialInstallation:
    """Answers requests. The cluster is a step further at each look at it.

    `stuck`: the step it never gets beyond; `killed_at`: the command dies at that request, counted from 1, before it
    arrives (`killed_before`) or after it did.
    """

    stuck: str = ""
    blocked: str = ""
    killed_at: int = 0
    killed_before: bool = True
    makes_network: bool = True
    findings: list[doctor_api.FindingOut] = field(default_factory=list)
    monthly: Decimal | None = Decimal("29.20")
    unknown: list[str] = field(default_factory=list)
    requests: list[tuple[str, str]] = field(default_factory=list)
    document: dict[str, Any] | None = None
    generation: int = 0
    uid_number: int = 0
    made: int = 0
    vms: dict[str, int] = field(default_factory=dict)
    deleting: int = 0
    network: str = ""
    network_error: str = ""
    others: list[str] = field(default_factory=list)
    """Clusters of other people in the same network."""
    reserved: list[str] = field(default_factory=list)
    reserved_deletion: str = ""
    away_at: tuple[int, ...] = ()
    """Requests, counted from 1, that nobody answers: the server is started anew."""
    doubled_at: int = 0
    """From that request on the broker has two VMs."""
    foreign_after: int = 0
    """After that request somebody declares a cluster of the same name."""
    moved: bool = False
    """Whether a controller's successor has another address."""

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append((request.method, request.url.path.removeprefix("/v1")))
        if len(self.requests) == self.foreign_after:
            self.document, self.vms = {"metadata": {"name": NAME}}, {"brokers-a-0": 1}
        if len(self.requests) in self.away_at:
            raise httpx.ConnectError("nobody is there")
        is_dead = self.killed_at == len(self.requests) and self.killed_before
        if is_dead or 0 < self.killed_at < len(self.requests):
            raise Killed
        answer = self._answer(*self.requests[-1], json.loads(request.content or b"{}"))
        if self.killed_at == len(self.requests):
            raise Killed
        return httpx.Response(200, json=answer.model_dump(mode="json")) if isinstance(answer, BaseModel) else answer

    @property
    def left(self) -> list[str]:
        """What costs money."""
        return [*(["cluster"] if self.document else []), *([self.network] if self.network else [])]

    def _answer(self, method: str, path: str, body: dict[str, Any]) -> BaseModel | httpx.Response:
        match method, path:
            case "GET", "/version":
                return system_api.VersionOut(
                    version="1.0", api="v1", installation_id="i", epoch=1, leader=True, planner="spark"
                )
            case "GET", "/doctor":
                one = doctor_api.ExaminationOut(
                    cloud="hetzner", asking=False, began_at=START, ended_at=START, findings=self.findings
                )
                return doctor_api.DoctorOut(items=[one])
            case "GET", "/networks":
                return self._networks()
            case "POST", "/plan":
                makes = ["kedge-verify is made"] if self.makes_network else []
                plans = plans_of(plan_of(NAME, exists=bool(self.document), cost=self._cost(), networks=makes))
                return plans.model_copy(update={"reserved": self.reserved})
            case "POST", "/apply":
                return self._apply(next(iter(yaml.safe_load_all(body["text"]))))
            case "POST", "/networks/kedge-verify/remove":
                self.network, self.network_error = "being removed", ""
                return network_api.NetworkAskedOut(name="kedge-verify", sentence="it is removed")
        if self.document is None or not path.startswith(f"/clusters/{NAME}"):
            return problem(404, "cluster-not-found", "there is no such cluster")
        return self._of_cluster(path.removeprefix(f"/clusters/{NAME}"), body)

    def _of_cluster(self, verb: str, body: dict[str, Any]) -> BaseModel | httpx.Response:
        if verb == "":
            return self._look()
        if verb == "/replace":
            self.vms[body["node"]] += 1
            self.made = 0
        if verb == "/delete":
            assert (body["confirm"], body["despite_freeze"]) == (NAME, True)
            if self.reserved_deletion:
                return command_api.CommandOut(
                    cluster=NAME, changed=False, sentence="it waits", proposal=self.reserved_deletion
                )
            self.deleting = 1
        return command_api.CommandOut(cluster=NAME, changed=True, sentence="asked")

    @property
    def is_blocked(self) -> bool:
        """Also for a look after the deletion was asked for: no tick has run since."""
        return bool(self.blocked) and self.deleting <= 2

    def _apply(self, document: dict[str, Any]) -> BaseModel:
        created = self.document is None
        if created:
            self.uid_number, self.generation, self.made, self.deleting = self.uid_number + 1, 0, 0, 0
            self.vms = {"controllers-a-0": 1, "brokers-a-0": 1}
            self.network = "being made" if self.makes_network and not self.network else self.network
        self.document, self.generation = document, self.generation + 1
        one = spec_api.AppliedOut(
            cluster=NAME, uid=self._uid, generation=self.generation, changed=True, created=created
        )
        return spec_api.ApplyOut(ok=True, problems=[], applied=[one], plans=[])

    def _vms(self) -> list[tuple[str, int]]:
        is_doubled = 0 < self.doubled_at <= len(self.requests)
        return [*self.vms.items(), *([("brokers-a-0", 9)] if is_doubled else [])]

    @property
    def _uid(self) -> str:
        return f"u{self.uid_number}"

    def _look(self) -> BaseModel | httpx.Response:
        if self.deleting:
            self.deleting += 1
            if self.deleting > 3:
                self.document = None
                return problem(404, "cluster-not-found", "there is no such cluster")
            return self._detail("Deleting", "requested")
        if self.network != "being made" and _MADE[self.made] != self.stuck:
            self.made = min(self.made + 1, len(_MADE) - 1)
        reached = _MADE[self.made]
        return self._detail("Converged" if reached == "joined" else "Working", reached)

    def _detail(self, status: str, reached: str) -> api.ClusterDetailOut:
        far = _MADE.index(reached)
        vms = [
            instance(
                f"{node}.g{generation}",
                "joined" if reached == "joined" else "launched",
                cloud_id="4711" if far else "",
                address=(f"10.0.0.{generation if self.moved else 7}" if node.startswith("c") else "10.0.0.7")
                if far
                else "",
                credential_since=START if far > 1 else None,
                kafka_state="serves" if reached == "joined" and node.startswith("brokers") else "",
            )
            for node, generation in self._vms()
        ]
        told = [condition("Blocked", True, "RunFailed", self.blocked)] if self.is_blocked else []
        return detail(
            NAME,
            uid=self._uid,
            status=status,
            generation=self.generation,
            converged_generation=self.generation if reached == "joined" else 0,
            instances=vms,
            conditions=[*told, condition("Converged", reached == "joined")],
            document=self.document,
            sentence=f"{reached}, of 10.0.0.7 in account production",
            sentence_at=START + timedelta(seconds=0 if self.deleting <= 2 else self.deleting),
        )

    def _address(self, node: str, generation: int) -> str:
        return f"10.0.0.{generation if self.moved and node.startswith('c') else 7}"

    def _networks(self) -> network_api.NetworksOut:
        place: dict[str, Any] = {
            "name": "kedge-verify",
            "cloud": "hetzner",
            "account": "production",
            "region": "eu-central",
        }
        there = [a_network(**place, state=self.network, clusters=self.others, error=self.network_error)]
        there = there if self.network else []
        if self.network == "being made" and self.stuck != "network":
            self.network = "made"
        elif self.network == "being removed":
            self.network = ""
        return listed(*there)

    def _cost(self) -> cost_api.PlanCostOut | None:
        if self.monthly is None:
            return None
        totals = [cost_api.MoneyOut(amount=self.monthly, currency="EUR")]
        bill = cost_api.BillOut(totals=totals, unknown=self.unknown, parts=[])
        return cost_api.PlanCostOut(before=None, after=bill, difference=None, surge=None, crossing=None, old=[])
