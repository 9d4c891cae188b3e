"""An audit of what a bench has made, by the real Terraform."""

import threading

from providers.audits import AuditFound, CloudAudit
from providers.base import CloudProvider, Resources
from providers.tf.audit import audit
from providers.tf.statefile import LocalStates
from tests.standins.mirror import MODULES
from tests.terraform.cloudbench import CloudBench


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
