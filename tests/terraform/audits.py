"""An audit of what a bench has made, by the real Terraform."""

import threading
from typing import Any

from providers.audits import AuditFound, CloudAudit, NetworkAudit
from providers.base import CloudProvider, Resources
from providers.networks import NetworkRunKind
from providers.tf.audit import audit
from providers.tf.state_file import LocalStates
from tests.standins.mirror import MODULES
from tests.terraform.cloudbench import CloudBench
from tests.terraform.networklife import NetworkBench


def audited(bench: CloudBench, rendered: Resources, *, cloud: CloudProvider | None = None) -> AuditFound:
    """What an audit of that set finds now, in the bench's own cloud or through another hand of it."""
    return audit(
        CloudAudit(f"audit-{bench.state_root.parent.name}", rendered),
        provider=cloud or bench.cloud,
        states=LocalStates(bench.state_root),
        module_root=MODULES,
        on_progress=bench.progress.append,
        stop=threading.Event(),
    )


def looked_at(bench: NetworkBench, **told: Any) -> AuditFound:
    """What an audit of that network finds now; `told` as the network was made."""
    wanted = bench.wanted(NetworkRunKind.MAKE, intent="audit", **told)
    return audit(
        NetworkAudit(wanted.intent_id, wanted),
        provider=bench.of.cloud,
        states=LocalStates(bench.of.state_root),
        module_root=MODULES,
        on_progress=bench.of.progress.append,
        stop=threading.Event(),
    )
