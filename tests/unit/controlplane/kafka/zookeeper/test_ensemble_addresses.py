"""An ensemble whose servers have IPv6 addresses: ZooKeeper and kazoo take brackets, and Java writes eight groups."""

from kazoo.hosts import collect_hosts

from controlplane.kafka.zookeeper.members import SECURE_PORT, ZooKeeperMember, parse_config

MEMBER = ZooKeeperMember(1, "fd5a::d:0:0:1")


def test_its_line_has_brackets_twice_and_one_of_tls_once() -> None:
    assert MEMBER.line == "server.1=[fd5a::d:0:0:1]:2888:3888:participant;[fd5a::d:0:0:1]:2181"
    secured = ZooKeeperMember(1, "fd5a::d:0:0:1", SECURE_PORT)
    assert secured.line == "server.1=[fd5a::d:0:0:1]:2888:3888:participant"


def test_the_configuration_that_java_wrote_is_of_the_same_members() -> None:
    java = "[fd5a:0:0:0:d:0:0:1]"
    one, other = f"server.1={java}:2888:3888:participant;{java}:2181", "server.2=10.0.0.2:2888:3888:observer;2181"
    text = f"{one}\n{other}\nversion=100000003"
    config = parse_config(text)
    assert config.members == (MEMBER, ZooKeeperMember(2, "10.0.0.2", role="observer"))
    assert parse_config(f"{MEMBER.line}\nversion=1").members == (MEMBER,)


def test_kazoo_reads_where_clients_connect_and_sockets_get_the_bare_address() -> None:
    assert MEMBER.endpoint == "[fd5a::d:0:0:1]:2181"
    hosts, _ = collect_hosts(",".join((MEMBER.endpoint, ZooKeeperMember(2, "10.0.0.2").endpoint)))
    assert hosts == [(MEMBER.address, 2181), ("10.0.0.2", 2181)]
