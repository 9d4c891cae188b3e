"""Why a program ended: outputs as Kafka 3.9.1 and 4.1.1, Java 17, git, mkfs, apt, Maven and Python wrote them."""

import pytest

from agent.exit_reason import exit_reason

_RULE = (
    "java.lang.IllegalArgumentException: requirement failed: replica.socket.timeout.ms should always be at least "
    "replica.fetch.wait.max.ms to prevent unnecessary socket timeouts"
)

STORAGE_TOOL = f"""Exception in thread "main" {_RULE}
\tat scala.Predef$.require(Predef.scala:337)
\tat kafka.server.KafkaConfig.validateValues(KafkaConfig.scala:511)
\tat kafka.server.KafkaConfig.<init>(KafkaConfig.scala:500)
\tat kafka.server.KafkaConfig.<init>(KafkaConfig.scala:158)
\tat kafka.tools.StorageTool$.$anonfun$execute$1(StorageTool.scala:79)
\tat scala.Option.flatMap(Option.scala:283)
\tat kafka.tools.StorageTool$.execute(StorageTool.scala:79)
\tat kafka.tools.StorageTool$.main(StorageTool.scala:46)
\tat kafka.tools.StorageTool.main(StorageTool.scala)
"""

BROKER_LOG = f"""[2026-11-28 14:16:05,900] INFO Registered kafka:type=kafka.Log4jController MBean (kafka.utils.Log4j)
[2026-11-28 14:16:06,151] ERROR Exiting Kafka due to fatal exception (kafka.Kafka$)
{_RULE}
\tat scala.Predef$.require(Predef.scala:337) ~[scala-library-2.13.16.jar:?]
\tat kafka.server.KafkaConfig.validateValues(KafkaConfig.scala:511) ~[kafka_2.13-4.1.1.jar:?]
\tat kafka.server.KafkaConfig.<init>(KafkaConfig.scala:500) ~[kafka_2.13-4.1.1.jar:?]
\tat kafka.Kafka$.buildServer(Kafka.scala:65) ~[kafka_2.13-4.1.1.jar:?]
\tat kafka.Kafka$.main(Kafka.scala:75) [kafka_2.13-4.1.1.jar:?]
"""

CONSOLE = BROKER_LOG.replace("[2026-11-28 14:16:06,151] ERROR", "14:16:06.151 [main] ERROR kafka.Kafka$ -").replace(
    " (kafka.Kafka$)", ""
)

WRONG_TYPE = """[2026-11-28 14:16:12,251] ERROR Exiting Kafka due to fatal exception (kafka.Kafka$)
org.apache.kafka.common.config.ConfigException: Invalid value zero for configuration num.io.threads: Not a number
\tat org.apache.kafka.common.config.ConfigDef.parseType(ConfigDef.java:776) ~[kafka-clients-4.1.1.jar:?]
"""

PORT_TAKEN = """[2026-11-28 14:16:12,000] ERROR Some retry of a fetcher failed (kafka.server.ReplicaFetcherThread)
[2026-11-28 14:16:12,251] ERROR Fatal error during broker startup. Prepare to shutdown (kafka.server.BrokerServer)
org.apache.kafka.common.KafkaException: Socket server failed to bind to 127.0.0.1:9092: Address already in use.
\tat kafka.network.Acceptor.openServerSocket(SocketServer.scala:725) ~[kafka_2.13-4.1.1.jar:?]
Caused by: java.net.BindException: Address already in use
\tat java.base/sun.nio.ch.Net.bind0(Native Method) ~[?:?]
\t... 14 more
[2026-11-28 14:16:12,260] INFO [BrokerServer id=1000] shutting down (kafka.server.BrokerServer)
"""


@pytest.mark.parametrize("output", [STORAGE_TOOL, BROKER_LOG, CONSOLE], ids=["storage tool", "log", "console"])
def test_the_rule_between_two_settings_that_kafka_names_first_is_the_reason(output: str) -> None:
    found = exit_reason(output)
    assert found.words == _RULE
    assert found.is_configuration


def test_a_value_of_another_type_is_refused_configuration_too() -> None:
    found = exit_reason(WRONG_TYPE)
    assert "num.io.threads" in found.words
    assert found.is_configuration


def test_an_address_that_is_taken_is_a_reason_and_no_refused_configuration() -> None:
    found = exit_reason(PORT_TAKEN)
    assert "Fatal error during broker startup" in found.words
    assert "Address already in use" in found.words
    assert found.words.count("BindException") == 1
    assert not found.is_configuration


def test_a_name_that_nobody_resolves_now_is_not_refused_configuration() -> None:
    said = "org.apache.kafka.common.config.ConfigException: No resolvable bootstrap urls given in bootstrap.servers"
    assert not exit_reason(f'Exception in thread "main" {said}\n').is_configuration


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (
            "Error occurred during initialization of VM\nInitial heap size set to a larger value than the maximum heap"
            " size\n",
            "Initial heap size set to a larger value than the maximum heap size",
        ),
        (
            "Invalid maximum heap size: -Xmx10q\nError: Could not create the Java Virtual Machine.\n"
            "Error: A fatal exception has occurred. Program will exit.\n",
            "Invalid maximum heap size: -Xmx10q",
        ),
        *(
            (f"{said}\nError: Could not create the Java Virtual Machine.\n", said)
            for said in (
                "Unrecognized VM option 'UseFooGC'",
                "Improperly specified VM option 'MaxGCPauseMillis=abc'",
                "Unexpected +/- setting in VM option 'MaxGCPauseMillis'",
                "Missing +/- setting for VM option 'UseG1GC'",
                "Error: VM option 'UseEpsilonGC' is experimental and must be enabled via -XX:+UnlockX.",
                "uintx InitiatingHeapOccupancyPercent=400 is outside the allowed range [ 0 ... 100 ]",
            )
        ),
        (
            "Error occurred during initialization of VM\nMultiple garbage collectors selected\n",
            "Multiple garbage collectors selected",
        ),
        (
            "[0.000s][error][logging] Invalid level 'blah' in log selection.\n"
            "Invalid -Xlog option '-Xlog:foo=blah', see error log for details.\n",
            "Invalid -Xlog option '-Xlog:foo=blah', see error log for details.",
        ),
        (
            "Error occurred during initialization of boot layer\n"
            "java.lang.RuntimeException: Unable to parse --add-opens <module>=<value>: java.base/foo\n",
            "java.lang.RuntimeException: Unable to parse --add-opens <module>=<value>: java.base/foo",
        ),
    ],
)
def test_what_the_jvm_refuses_is_configuration(output: str, said: str) -> None:
    found = exit_reason(output)
    assert (found.words, found.is_configuration) == (said, True)


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("Cloning into 'x'...\nfatal: repository 'https://x/' not found\nhint: is it there?\n", "fatal: repository"),
        ("mkfs.xfs: /dev/vdb appears to contain an existing filesystem (ext4).\nmkfs.xfs: Use -f\n", "existing file"),
        ("Reading package lists...\nE: Unable to locate package xfsprogs\nE: broken\n", "E: Unable to locate package"),
        (
            "[ERROR] Failed to execute goal on project jars: Could not resolve dependencies\n[ERROR] -> [Help 1]\n"
            + "[ERROR] \n[ERROR] Re-run Maven using the -X switch\n" * 20,
            "Could not resolve dependencies",
        ),
        (
            'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\n    import cryptography\n'
            "ModuleNotFoundError: No module named 'cryptography'\n",
            "ModuleNotFoundError: No module named 'cryptography'",
        ),
    ],
    ids=["git", "mkfs", "apt", "maven", "python"],
)
def test_the_reason_of_another_program_is_found_by_its_form(output: str, said: str) -> None:
    found = exit_reason(output)
    assert said in found.words
    assert not found.is_configuration


def test_what_has_no_known_form_is_told_with_its_beginning_and_its_end() -> None:
    found = exit_reason("begin " + "x" * 2000 + " end", most=100)
    assert found.words.startswith("begin ")
    assert found.words.endswith(" end")
    assert len(found.words) <= 100


def test_a_program_that_wrote_nothing_gave_no_reason() -> None:
    assert exit_reason(" \n").words == ""


def test_a_reason_is_cut_at_its_end_not_at_its_beginning() -> None:
    words = exit_reason(STORAGE_TOOL.replace("requirement", "requirement " + "x" * 600), most=200).words
    assert words.startswith("java.lang.IllegalArgumentException: requirement")
    assert len(words) <= 200
