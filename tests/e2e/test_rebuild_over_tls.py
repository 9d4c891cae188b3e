"""The database of a cluster whose nodes speak TLS is gone: it is rebuilt with the CAs that the home has a copy of, and
a VM that is made after it is let in by those of before."""

import json

import pytest

from controlplane.api.schemas import commands as command_api
from controlplane.storage.certificates.authority_copy import FILE
from tests.e2e.cluster_spec import ClusterSpec
from tests.e2e.invariants import settled
from tests.e2e.living_cluster import LivingCluster
from tests.e2e.test_rebuild_lost_database import lose_database, rebuild
from tests.e2e.traffic import traffic

pytestmark = [pytest.mark.soak, pytest.mark.kafka, pytest.mark.timeout(900)]

SPEC = ClusterSpec(name="sealed", tls=True, controllers=3, join_deadline_s=180)


def test_a_lost_database_is_rebuilt_with_the_cas_of_the_home_and_goes_on(living_cluster: LivingCluster) -> None:
    cluster = living_cluster
    copy = cluster.home / FILE
    cluster.until(copy.exists, "the CAs to be copied", timeout_s=60)
    ca, vms = cluster.client.endpoints(SPEC.name).ca, cluster.vms()
    with traffic(cluster.bootstrap, client={"security.protocol": "ssl", "ssl.ca.pem": ca}, client_port=9094):
        lose_database(cluster)
        aside = copy.rename(copy.with_suffix(".aside"))
        report = json.loads(rebuild(cluster, "-o", "json", expect=1).stdout)
        (refused,) = [f["message"] for f in report["clusters"][0]["findings"] if f["weight"] == "refuses"]
        assert "this home has no copy of those" in refused
        aside.rename(copy)

        looked = json.loads(rebuild(cluster, "-o", "json").stdout)
        told = [f["message"] for f in looked["clusters"][0]["findings"]]
        assert not [message for message in told if "Kafka could not be asked" in message], told
        rebuild(cluster, "--write", "-y")
        cluster.start_server()
        cluster.client.command(SPEC.name, "resume", command_api.ReasonIn(reason="looked at it"))
        settled(cluster, within_s=300)
        assert (cluster.vms(), cluster.jobs()) == (vms, {}), "no effect"
        assert cluster.client.endpoints(SPEC.name).ca == ca, "clients notice nothing"

        before = cluster.roll("one")
        cluster.event("replacement.completed", before, within_s=400)
        settled(cluster, within_s=300)
    issued = [e.data["key"] for e in cluster.events(before) if e.type == "certificate.issued"]
    assert issued == [cluster.instance("one-a-0").key], "of the CA that the others believe"
