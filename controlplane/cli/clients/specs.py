"""Specs: what they say and would do, where they come from, and who has to agree."""

from controlplane.api.schemas import (
    commands as command_api,
    proposals as proposal_api,
    rollbacks as rollback_api,
    sources as source_api,
    spec_requests as request_api,
    specs as spec_api,
)
from controlplane.cli.clients.calls import ApiCalls
from controlplane.cli.clients.exchange import part


class SpecCalls(ApiCalls):
    def validate(self, spec: spec_api.SpecIn) -> spec_api.ValidateOut:
        """Every problem of a file."""
        return self._post("/validate", spec, spec_api.ValidateOut)

    def plan(self, spec: spec_api.SpecIn) -> spec_api.PlansOut:
        """What applying the file would do."""
        return self._post("/plan", spec, spec_api.PlansOut)

    def apply(self, order: spec_api.ApplyIn) -> spec_api.ApplyOut:
        """Declares what the file says."""
        return self._post("/apply", order, spec_api.ApplyOut)

    def pull_request(self, order: request_api.SpecRequestIn) -> request_api.SpecRequestOut:
        """Has a spec file become a pull request, or says what that would take."""
        return self._post("/pull-requests", order, request_api.SpecRequestOut)

    def topic_declarations(self, name: str, topic: str) -> rollback_api.TopicDeclarationsOut:
        """What was declared of a topic."""
        path = f"topics/{part(topic)}/declarations"
        return self.whole_of(name, path, rollback_api.TopicDeclarationsOut, of="declarations")

    def rollback(self, name: str, order: rollback_api.RollbackIn, *, topic: str = "") -> rollback_api.RollbackOut:
        """Puts the spec of an earlier generation back, or an earlier declaration of a topic, or says what that does."""
        path = f"topics/{part(topic)}/rollback" if topic else "rollback"
        return self.post_of(name, path, order, rollback_api.RollbackOut)

    def take_over(self, name: str, order: source_api.SourceIn) -> command_api.CommandOut:
        return self.post_of(name, "source", order, command_api.CommandOut)

    def sources(self) -> list[source_api.SourceOut]:
        return self._whole("/sources", list[source_api.SourceOut])

    def poll_source(self, name: str) -> source_api.SourcePolledOut:
        return self._post(f"/sources/{part(name)}/poll", command_api.ReasonIn(), source_api.SourcePolledOut)

    def accept_source(self, name: str, order: source_api.AcceptIn) -> source_api.SourcePolledOut:
        """Accepts a rewritten history."""
        return self._post(f"/sources/{part(name)}/accept", order, source_api.SourcePolledOut)

    def proposals(self, *, everything: bool = False) -> list[proposal_api.ProposalOut]:
        """Changes that wait for a second person; with `everything` also those that are over."""
        params = {"everything": str(everything).lower()}
        return self._whole("/proposals", list[proposal_api.ProposalOut], params=params)

    def proposal(self, number: str) -> proposal_api.ProposalDetailOut:
        """One of them with its plan."""
        return self._get(f"/proposals/{part(number)}", proposal_api.ProposalDetailOut)

    def decide_proposal(self, number: str, verb: str, decision: proposal_api.DecisionIn) -> proposal_api.ProposalOut:
        """`approve` or `reject`."""
        return self._post(f"/proposals/{part(number)}/{verb}", decision, proposal_api.ProposalOut)
