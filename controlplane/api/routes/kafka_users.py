"""/v1/clusters/NAME/users: who is declared, and what is asked for single users."""

from fastapi import APIRouter

from controlplane.api.access.bindings import traits_of
from controlplane.api.access.caller import Caller
from controlplane.api.access.rights import Rights
from controlplane.api.access.roles import Verb
from controlplane.api.cluster_lookup import living
from controlplane.api.given_commands import carry_out
from controlplane.api.paging import MOST_ON_A_PAGE, After, Most, PartOf, Turning
from controlplane.api.presenters.kafka_users import user_out, users_out
from controlplane.api.problems import ApiError
from controlplane.api.request_identity import Heading, Once
from controlplane.api.schemas import commands as command_api, kafka_users as user_api, messages as message_api
from controlplane.api.services import PortalServices, Services
from controlplane.api.user_credentials import UserCredentials
from controlplane.cluster.commands import CommandHead, CommandRefused
from controlplane.cluster.user_commands import DeleteUser, RotatePassword
from controlplane.cluster.view import ClusterView
from controlplane.cluster.views.users import DeclaredUser
from controlplane.storage.certificates.building import RequestRefused
from controlplane.storage.certificates.cluster_authorities import AuthorityLost

router = APIRouter(prefix=message_api.API_PREFIX, tags=["users"])


@router.get("/clusters/{name}/users")
def list_users(
    name: str, services: Services, turn: Turning, q: PartOf = "", after: After = "", limit: Most = MOST_ON_A_PAGE
) -> user_api.KafkaUsersOut:
    """Every declared user by name."""
    out = users_out(living(services, name), part=q, after=after, most=limit + 1)
    return out.model_copy(update={"users": turn.page(out.users, lambda user: user.name, limit)})


@router.get("/clusters/{name}/users/{user}")
def get_user(name: str, user: str, services: Services) -> user_api.KafkaUserOut:
    """One user: what is declared, and what keeps Kafka from it."""
    view = living(services, name)
    return user_out(view, known_user(view, user))


@router.post("/clusters/{name}/users/{user}/delete")
def delete_user(
    user: str, body: user_api.DeleteKafkaUserIn, services: Services, head: Heading
) -> command_api.CommandOut:
    """The tombstone of a user; its name must be typed out."""
    command = DeleteUser(**head, user=user, confirm=body.confirm, reason=body.reason, retain=body.retain)
    return carry_out(services, command)


@router.post("/clusters/{name}/users/{user}/password/rotate")
def rotate_password(
    user: str, body: user_api.RotatePasswordIn, services: Services, head: Heading
) -> command_api.CommandOut:
    """Another password for a SCRAM user. It can be collected once Kafka has it."""
    return carry_out(services, RotatePassword(**head, user=user, reason=body.reason))


@router.post("/clusters/{name}/users/{user}/password/collect", dependencies=[Once])
def collect_password(
    user: str, body: user_api.CollectPasswordIn, services: Services, rights: Caller, head: Heading
) -> user_api.KafkaPasswordOut:
    """The password of a SCRAM user, once: Kedge keeps none of it."""
    return collected_password(services, rights, head, user)


@router.post("/clusters/{name}/users/{user}/certificate", dependencies=[Once])
def sign_certificate(
    user: str, body: user_api.CertificateIn, services: Services, rights: Caller, head: Heading
) -> user_api.CertificateOut:
    """Signs a key of a `tls` user by the cluster's clients CA. Names in the request count for nothing."""
    view = _of_ones_own(services, rights, head["name"])
    try:
        signed = _credentials(services).certify(services.cluster.commands, head, user, body.request, days=body.days)
    except RequestRefused as refused:
        then = "openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout user.key -subj /CN=user"
        raise ApiError(422, "request-refused", str(refused), next_step=then) from None
    except AuthorityLost as lost:
        raise ApiError(503, "authority-lost", str(lost)) from None
    services.fleet.clusters.catch_up()
    return user_api.CertificateOut.like(
        signed.issued, cluster=view.name, user=user, certificate=signed.issued.pem, cluster_ca=signed.cluster_ca
    )


def collected_password(
    services: PortalServices, rights: Rights, head: CommandHead, user: str
) -> user_api.KafkaPasswordOut:
    """For the API and the page, this once. Raises CommandRefused, ClusterNotFound, Forbidden, StoreUnavailable."""
    view = _of_ones_own(services, rights, head["name"])
    password = _credentials(services).collect(services.cluster.commands, head, user)
    services.fleet.clusters.catch_up()
    return user_api.KafkaPasswordOut(
        cluster=view.name, user=user, mechanism="SCRAM-SHA-512", password=password.get_secret_value()
    )


def known_user(view: ClusterView, user: str) -> DeclaredUser:
    """404 for one that Kedge does not keep."""
    known = view.users.by_name.get(user)
    if known is None:
        then = f"kedge users list {view.name}"
        raise ApiError(404, "user-not-found", f"{view.name} has no user called {user} that Kedge keeps", next_step=then)
    return known


def _of_ones_own(services: PortalServices, rights: Rights, name: str) -> ClusterView:
    """A cluster whose spec the caller may declare, before anything is looked up or signed. Raises Forbidden."""
    view = living(services, name)
    rights.require(Verb.DECLARE, traits_of(view.document), f"cluster {name}")
    return view


def _credentials(services: PortalServices) -> UserCredentials:
    """Raises CommandRefused for a portal apart from its loop, which has none of the keys they are sealed under."""
    found = services.access.user_credentials
    if found is None:
        message = "a portal apart from the loop has no passwords and no CAs of users"
        raise CommandRefused("ask-the-loop", message, "On the machine of the loop, as its user: `kedge users ...`.")
    return found
