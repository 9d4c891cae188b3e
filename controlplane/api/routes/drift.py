"""/v1/clusters/NAME/drift: what was changed by hand in the cloud, by the last audit; and to ask for one."""

from fastapi import APIRouter

from controlplane.api.access.bindings import traits_of
from controlplane.api.access.caller import Caller
from controlplane.api.access.roles import Verb
from controlplane.api.cluster_lookup import living
from controlplane.api.presenters.drift import asked_out, drift_out
from controlplane.api.request_identity import Keyed
from controlplane.api.schemas import drift as drift_api, messages as message_api
from controlplane.api.services import Services
from controlplane.cluster.observed.cloud_drift import ask_for_audit
from controlplane.cluster.work_in_hand import has_work

router = APIRouter(prefix=message_api.API_PREFIX, tags=["clusters"])


@router.get("/clusters/{name}/drift")
def get_drift(name: str, services: Services) -> drift_api.DriftOut:
    """The last audit of each place of the cluster, and of each network of Kedge's it is in."""
    view = living(services, name)
    return drift_out(view, services.cluster.latest, services.fleet.networks.audits_for(view))


@router.post("/clusters/{name}/drift/audit", dependencies=[Keyed])
def ask(name: str, services: Services, rights: Caller) -> drift_api.AuditAskedOut:
    """Have it audited now, whenever its turn would be. An audit changes nothing."""
    view = living(services, name)
    rights.require(Verb.STEER, traits_of(view.document), f"cluster {name}")
    now = services.clock()
    ask_for_audit(services.cluster.latest, view.uid, now)
    return asked_out(view, now, is_busy=has_work(view))
