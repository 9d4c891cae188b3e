"""/v1/clusters/NAME/drift: what was changed by hand in the cloud, by the last audit; and to ask for one."""

from fastapi import APIRouter

from controlplane.converger.inhand import has_work
from controlplane.drift.record import ask_for_audit
from controlplane.portal.access.bindings import traits_of
from controlplane.portal.access.caller import Caller
from controlplane.portal.access.roles import Verb
from controlplane.portal.answers.drift import asked_out, drift_out
from controlplane.portal.routes.clusters import Keyed, living
from controlplane.portal.schemas import clusters as api, drift as drift_api
from controlplane.portal.services import Services

router = APIRouter(prefix=api.API_PREFIX, tags=["clusters"])


@router.get("/clusters/{name}/drift")
def get_drift(name: str, services: Services) -> drift_api.DriftOut:
    """The last audit of each place of the cluster, and of each network of Kedge's it is in."""
    view = living(services, name)
    return drift_out(view, services.latest, services.networks.audits_for(view))


@router.post("/clusters/{name}/drift/audit", dependencies=[Keyed])
def ask(name: str, services: Services, rights: Caller) -> drift_api.AuditAskedOut:
    """Have it audited now, whenever its turn would be. An audit changes nothing."""
    view = living(services, name)
    rights.require(Verb.STEER, traits_of(view.document), f"cluster {name}")
    now = services.clock()
    ask_for_audit(services.latest, view.uid, now)
    return asked_out(view, now, is_busy=has_work(view))
