"""/v1/clusters/NAME/certificates: what nodes show each other, and the replacement of a CA."""

from fastapi import APIRouter

from controlplane.api.access.caller import Caller
from controlplane.api.cluster_lookup import living
from controlplane.api.presenters.certificates import certificates_out
from controlplane.api.previewed_commands import carry_out_or_say
from controlplane.api.request_identity import Heading
from controlplane.api.schemas import certificates as api, commands as command_api, messages as message_api
from controlplane.api.services import PortalServices, Services
from controlplane.cluster.commands import ReplaceAuthority, RevokeCertificates
from controlplane.cluster.observed.agent_reports import AGENT_REPORT, reports_by_key
from controlplane.cluster.view import ClusterView
from controlplane.commands.deciders.authorities import authority_replacement_asked
from controlplane.commands.deciders.revocations import revocation_asked
from events.certificate_facts import ReplacedAuthority

router = APIRouter(prefix=message_api.API_PREFIX, tags=["certificates"])


@router.get("/clusters/{name}/certificates")
def certificates(name: str, services: Services) -> api.CertificatesOut:
    """Both CAs, the replacement of one, and of each node what was signed and what its listeners show."""
    return certificates_of(services, living(services, name))


@router.post("/clusters/{name}/replace-ca")
def replace_ca(
    body: api.ReplaceAuthorityIn, services: Services, rights: Caller, head: Heading
) -> command_api.CommandOut:
    """Begin the replacement of a CA, go on with it, or back; with `dry_run` only say what would come of it."""
    kind: ReplacedAuthority = "clients" if body.clients else "cluster"
    command = ReplaceAuthority(**head, reason=body.reason, kind=kind, step=body.step)
    return carry_out_or_say(services, rights, command, authority_replacement_asked, dry_run=body.dry_run)


@router.post("/clusters/{name}/revoke-certificates")
def revoke(
    name: str, body: api.RevokeCertificatesIn, services: Services, rights: Caller, head: Heading
) -> command_api.CommandOut:
    """Recognise the VM of a node no more, and replace it; with `dry_run` only say what would come of it."""
    typed = name if body.dry_run else body.confirm
    command = RevokeCertificates(**head, reason=body.reason, node=body.node, confirm=typed, replace_ca=body.replace_ca)
    return carry_out_or_say(services, rights, command, revocation_asked, dry_run=body.dry_run)


def certificates_of(services: PortalServices, view: ClusterView) -> api.CertificatesOut:
    """For the API and the page: what is recorded, beside what agents said last."""
    heard = reports_by_key(services.cluster.latest.of_cluster(view.uid, AGENT_REPORT))
    said = {i.key: heard[i.key].service(i.planned.service) for i in view.alive() if i.key in heard}
    found = {key: report for key, report in said.items() if report is not None}
    return certificates_out(view, found, services.clock)
