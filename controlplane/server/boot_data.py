"""What a VM is born with: who it is, where its server is, and what it proves itself with the first time."""

import json

from pydantic import SecretStr

from agent.wire import BootData
from controlplane.api.auth import enrolment_token
from controlplane.storage.home import Home, Installation
from events.ids import ClusterUid, IntentId


def boot_data(home: Home, installation: Installation, uid: ClusterUid, node: str, generation: int, intent: str) -> str:
    """What a VM is born with, as JSON. The same bytes each time: another text would be another VM."""
    url = home.agent_url()
    if url is None:
        raise RuntimeError(f"{home.path} says no address for agents yet: the server that listens writes it")
    ca_sha256 = home.agent_ca() if url.startswith("https://") else ""
    if ca_sha256 is None:
        raise RuntimeError(f"{home.path} says {url} and no CA: `agent-ca` is missing, put it back")
    boot = BootData(
        server_url=url,
        installation_id=installation.id,
        cluster_uid=uid,
        node=node,
        generation=generation,
        intent_id=intent,
        token=SecretStr(enrolment_token(installation.server_key, IntentId(intent))),
        ca_sha256=ca_sha256,
    )
    # Without TLS the field is not even named: boot data from before it was there has to render the same.
    unsaid = set() if ca_sha256 else {"ca_sha256"}
    return json.dumps(boot.model_dump(mode="json", exclude=unsaid), sort_keys=True, separators=(",", ":"))
