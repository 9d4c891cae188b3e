"""What all clusters share: networks, images, freezes, machines, agents."""

from controlplane.api.schemas import (
    agents as agent_api,
    doctor as doctor_api,
    failovers as failover_api,
    freezes as freeze_api,
    images as image_api,
    machines as machine_api,
    networks as network_api,
    search as search_api,
)
from controlplane.cli.clients.calls import ApiCalls
from controlplane.cli.clients.exchange import part


class FleetCalls(ApiCalls):
    def find(self, text: str, *, limit: int) -> search_api.SearchOut:
        """What holds the text in any cluster."""
        return self._get("/search", search_api.SearchOut, params={"q": text, "limit": str(limit)})

    def networks(self) -> network_api.NetworksOut:
        """The networks Kedge makes."""
        return self._whole("/networks", network_api.NetworksOut, of="items")

    def remove_network(self, name: str, order: network_api.NetworkRemovalIn) -> network_api.NetworkAskedOut:
        return self._post(f"/networks/{part(name)}/remove", order, network_api.NetworkAskedOut)

    def repair_network(self, name: str, order: network_api.NetworkIn) -> network_api.NetworkAskedOut:
        """Asks for what is missing of a network to be made again."""
        return self._post(f"/networks/{part(name)}/repair", order, network_api.NetworkAskedOut)

    def images(self) -> image_api.ImagesOut:
        return self._whole("/images", image_api.ImagesOut, of="items")

    def image(self, name: str) -> image_api.ImageOut:
        """One revision with the clusters it concerns."""
        return self._get(f"/images/{part(name)}", image_api.ImageOut)

    def publish_image(self, order: image_api.ImageIn) -> image_api.ImagePublishedOut:
        return self._post("/images", order, image_api.ImagePublishedOut)

    def withdraw_image(self, name: str, order: image_api.ImageWithdrawalIn) -> image_api.ImagePublishedOut:
        return self._post(f"/images/{part(name)}/withdraw", order, image_api.ImagePublishedOut)

    def freezes(self, *, past: bool) -> freeze_api.FreezesOut:
        """The freezes; `past` ones too, or those that are not over."""
        return self._whole("/freezes", freeze_api.FreezesOut, of="items", params={"past": str(past).lower()})

    def freeze(self, order: freeze_api.FreezeIn) -> freeze_api.FreezeSaidOut:
        return self._post("/freezes", order, freeze_api.FreezeSaidOut)

    def thaw(self, name: str, order: freeze_api.ThawIn) -> freeze_api.FreezeSaidOut:
        return self._post(f"/freezes/{part(name)}/thaw", order, freeze_api.FreezeSaidOut)

    def failovers(self) -> failover_api.FailoversOut:
        """Pairs of clusters."""
        return self._whole("/failovers", failover_api.FailoversOut, of="items")

    def failover(self, name: str) -> failover_api.FailoverOut:
        return self._get(f"/failovers/{part(name)}", failover_api.FailoverOut)

    def failover_plan(self, name: str, *, planned: bool, accept_loss: bool) -> failover_api.FailoverPlanOut:
        asked = {"planned": str(planned).lower(), "accept_loss": str(accept_loss).lower()}
        return self._get(f"/failovers/{part(name)}/plan", failover_api.FailoverPlanOut, params=asked)

    def order_failover(self, name: str, order: failover_api.FailoverOrderIn) -> failover_api.FailoverSaidOut:
        return self._post(f"/failovers/{part(name)}/failover", order, failover_api.FailoverSaidOut)

    def abort_failover(self, name: str, order: failover_api.FailoverAbortIn) -> failover_api.FailoverSaidOut:
        return self._post(f"/failovers/{part(name)}/abort", order, failover_api.FailoverSaidOut)

    def certify_door_shut(self, name: str, word: failover_api.DoorCertificationIn) -> failover_api.FailoverSaidOut:
        return self._post(f"/failovers/{part(name)}/certify-shut", word, failover_api.FailoverSaidOut)

    def withdraw_failover(self, name: str, order: failover_api.WithdrawalIn) -> failover_api.FailoverSaidOut:
        return self._post(f"/failovers/{part(name)}/withdraw", order, failover_api.FailoverSaidOut)

    def machines(self, cloud: str, region: str) -> machine_api.MachinesOut:
        """What clouds sell; "" does not narrow it."""
        return self._whole("/machines", machine_api.MachinesOut, of="items", params={"cloud": cloud, "region": region})

    def doctor(self, cloud: str) -> doctor_api.DoctorOut:
        """Whether a cloud is ready as the server reaches it, as far as that is known by now."""
        return self._get("/doctor", doctor_api.DoctorOut, params={"cloud": cloud})

    def agents(self) -> agent_api.AgentsOut:
        """The agents VMs are to run, and how far each VM is."""
        return self._whole("/agents", agent_api.AgentsOut, of="clusters")

    def publish_agent(self, order: agent_api.AgentReleaseIn) -> agent_api.AgentSaidOut:
        return self._post("/agents", order, agent_api.AgentSaidOut)

    def withdraw_agent(self, version: str, order: agent_api.AgentReasonIn) -> agent_api.AgentSaidOut:
        return self._post(f"/agents/{part(version)}/withdraw", order, agent_api.AgentSaidOut)

    def resume_agents(self, order: agent_api.AgentReasonIn) -> agent_api.AgentSaidOut:
        """Lets the upgrade of agents go on after a failure."""
        return self._post("/agents/resume", order, agent_api.AgentSaidOut)
