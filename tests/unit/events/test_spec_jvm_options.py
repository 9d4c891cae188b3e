"""The JVM options of a pool: what is accepted, what is refused and why, and what a change costs."""

import pytest

from events.spec.change import differences
from events.spec.digest import instance_digest
from events.spec.document import load_documents
from events.spec.fields import FieldClass
from planner.rollout.desired import desired_nodes
from tests.builders import a_document, a_spec


def _problems(*options: str) -> list[tuple[str, str]]:
    listed = "".join(f"\n      - '{option}'" for option in options)
    text = a_spec(jvm="-XX:+AlwaysPreTouch").replace("jvmOptions: [-XX:+AlwaysPreTouch]", f"jvmOptions:{listed}")
    return [(one.code, one.message) for one in load_documents(text, file="orders.yaml").problems]


@pytest.mark.parametrize(
    "option",
    [
        "-XX:+UseZGC",
        "-XX:MaxGCPauseMillis=50",
        "-Xss512k",
        "-Xmn256m",
        "-Xlog:gc*:file=gc-%p.log:time,level:filecount=5,filesize=10M",
        "-Dcom.sun.management.jmxremote.port=9999",
        "-Djava.net.preferIPv4Stack=true",
        "-Djava.security.egd=file:/dev/urandom",
        "--add-opens=java.base/java.lang=ALL-UNNAMED",
        "-verbose:gc",
        "-ea",
    ],
)
def test_what_tunes_a_jvm_is_accepted(option: str) -> None:
    assert _problems(option) == []


@pytest.mark.parametrize(
    ("option", "why"),
    [
        ("UseZGC", "does not begin with `-`"),
        ("-Xmx4g", "sets the heap, which `heapMib` does"),
        ("-Xms4g", "sets the heap, which `heapMib` does"),
        ("-XX:MaxRAMPercentage=70", "sets the heap, which `heapMib` does"),
        ("-XX:MaxHeapSize=1g", "sets the heap, which `heapMib` does"),
        ("-javaagent:/tmp/x.jar", "loads or runs what is not Kafka's"),
        ("-agentlib:jdwp=transport=dt_socket", "loads or runs what is not Kafka's"),
        ("-agentpath:/tmp/x.so", "loads or runs what is not Kafka's"),
        ("-XX:OnOutOfMemoryError=reboot", "loads or runs what is not Kafka's"),
        ("-XX:Flags=/tmp/x", "loads or runs what is not Kafka's"),
        ("-Xbootclasspath/a:/tmp/x", "loads or runs what is not Kafka's"),
        ("-Djava.library.path=/tmp", "loads or runs what is not Kafka's"),
        ("-jar", "says what Java starts, which Kedge does"),
        ("-cp", "says what Java starts, which Kedge does"),
        ("--class-path=/tmp", "says what Java starts, which Kedge does"),
        ("-Djavax.net.ssl.keyStorePassword=x", "holds a secret, and specs are read by many"),
        ("-Dkedge.start=x", "is set by Kedge"),
        ("-Dlog4j2.configurationFile=x", "is set by Kedge"),
        ("-XX:-ExitOnOutOfMemoryError", "is set by Kedge"),
        ("-Xshare:off", "is set by Kedge"),
        ("-XX:+UseZGC -XX:+AlwaysPreTouch", "holds a blank, and no shell reads it"),
        ("-Dx=$(reboot)", "holds `$`, and no shell reads it"),
        ("-Dx=a;b", "holds `;`, and no shell reads it"),
        ("-Dx=a|b", "holds `|`, and no shell reads it"),
        ("-version", "is no option that a service is started with"),
        ("--dry-run", "is no option that a service is started with"),
        ("-Xdiag", "is no option that a service is started with"),
        ("-XX:UseZGC", "is no option that a service is started with"),
    ],
)
def test_what_would_break_a_start_is_refused_with_its_reason(option: str, why: str) -> None:
    [(code, message)] = _problems(option)
    assert code == "KEDGE-SPEC-028"
    assert f"`{option}` {why}" in message


def test_two_collectors_and_one_option_twice_are_refused() -> None:
    [(_, message)] = _problems("-XX:+UseZGC", "-XX:+UseG1GC")
    assert "`-XX:+UseG1GC` names a second collector beside `-XX:+UseZGC`: Java starts with one" in message
    [(_, message)] = _problems("-XX:MaxGCPauseMillis=20", "-XX:MaxGCPauseMillis=50")
    assert "says again what `-XX:MaxGCPauseMillis=20` says" in message
    assert _problems("-Xlog:gc", "-Xlog:safepoint") == []


def test_a_change_is_a_restart_and_no_other_vm() -> None:
    old, new = a_document(), a_document(jvm="-XX:+UseZGC")
    [change] = differences(old, new)
    assert (change.path, change.field_class) == ("spec.pools[brokers].jvmOptions", FieldClass.RESTART)
    assert (change.old, change.new) == ([], ["-XX:+UseZGC"])
    assert instance_digest(old, "brokers") == instance_digest(new, "brokers")
    before, after = ({n.node: n for n in desired_nodes(d)} for d in (old, new))
    assert {k: n.digest for k, n in before.items()} == {k: n.digest for k, n in after.items()}
    assert {n.pool: n.jvm.options for n in after.values()} == {"brokers": ("-XX:+UseZGC",), "controllers": ()}
