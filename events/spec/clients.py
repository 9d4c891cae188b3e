"""How clients find a cluster, and who of them may reach it."""

from events.spec import scalars
from events.spec.fields import FieldClass, Part, classed


class Bootstrap(Part):
    """How clients find the cluster."""

    dns: scalars.HostName | None = classed(
        FieldClass.BEHAVIOURAL,
        "The cluster's DNS name, published first; kept by Kedge where its zone is bound in the settings.",
        default=None,
    )
    list: scalars.Flag = classed(FieldClass.BEHAVIOURAL, "Publish the list of the brokers' addresses.", default=True)


class Access(Part):
    """Who of outside the network may reach the brokers."""

    clients: tuple[scalars.NetworkText, ...] = classed(
        FieldClass.BEHAVIOURAL,
        "Networks clients come from, by CIDR. Without any, only who is inside the cluster's network gets in. The "
        "firewall of a network lets in what all its clusters name together; no VM is replaced for it.",
        default=(),
        max_length=50,
    )
