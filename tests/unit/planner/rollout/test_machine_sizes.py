"""What a machine decides: heaps, collector, threads and internal topics, by one table."""

import pytest

from planner.rollout.machine_sizes import Machine, jvm_options, service_size

R7G_XLARGE = Machine(vcpus=4, memory_mib=32768)


def test_a_broker_on_an_r7g_xlarge_gets_six_gib_g1_and_threads() -> None:
    size = service_size("broker", R7G_XLARGE)
    assert size.heap_mib == 6144
    assert "-XX:+UseG1GC" in size.jvm
    assert "-XX:MaxGCPauseMillis=20" in size.jvm
    assert not any("TieredStopAtLevel" in option for option in size.jvm)
    told = {name: size.properties[name] for name in ("num.io.threads", "num.network.threads", "num.replica.fetchers")}
    assert told == {"num.io.threads": "8", "num.network.threads": "3", "num.replica.fetchers": "2"}
    assert size.properties["offsets.topic.num.partitions"] == "50"
    assert size.properties["transaction.state.log.num.partitions"] == "50"


@pytest.mark.parametrize("service", ["broker", "controller", "zookeeper"])
@pytest.mark.parametrize("memory_mib", [1024, 2048, 4096, 8192, 16384, 65536, 1_048_576])
def test_at_least_half_of_the_memory_is_left_to_the_page_cache(service: str, memory_mib: int) -> None:
    assert 0 < service_size(service, Machine(2, memory_mib)).heap_mib <= memory_mib // 2


@pytest.mark.parametrize("memory_mib", [1024, 2048, 4096, 8192, 32768])
def test_two_services_leave_a_quarter_of_the_memory(memory_mib: int) -> None:
    size = service_size("broker", Machine(2, memory_mib), with_member=True)
    assert size.member_heap_mib > 0
    assert 4 * (size.heap_mib + size.member_heap_mib) <= 3 * memory_mib


def test_a_heap_of_the_spec_goes_before_the_table_and_its_options_follow_it() -> None:
    small = service_size("broker", R7G_XLARGE, heap_mib=512, member_heap_mib=2048, with_member=True)
    assert (small.heap_mib, small.member_heap_mib) == (512, 2048)
    assert small.jvm == ("-XX:+UseSerialGC",)
    assert "-XX:+UseG1GC" in small.member_jvm


def test_regions_are_named_only_where_the_heap_has_many_of_them() -> None:
    assert "-XX:G1HeapRegionSize=16M" in jvm_options(4096, vcpus=2)
    assert "-XX:G1HeapRegionSize=16M" not in jvm_options(4095, vcpus=2)
    assert jvm_options(6144, vcpus=1) == ("-XX:+UseSerialGC",)


def test_threads_follow_cpus_and_disks() -> None:
    large = service_size("broker", Machine(48, 196_608), disks=4).properties
    assert large["num.io.threads"] == "48"
    assert large["num.network.threads"] == "24"
    assert large["num.replica.fetchers"] == "4"
    assert large["num.recovery.threads.per.data.dir"] == "8"
    assert service_size("broker", Machine(4, 8192), disks=8).properties["num.recovery.threads.per.data.dir"] == "1"


def test_who_is_no_broker_is_told_no_threads() -> None:
    assert service_size("controller", R7G_XLARGE).properties == {}
    with pytest.raises(LookupError):
        service_size("spark", R7G_XLARGE)
