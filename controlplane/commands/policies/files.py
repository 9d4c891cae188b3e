"""Policy files as they are read, with everything that is wrong with them, and the tests they carry."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml
from pydantic import ValidationError

from controlplane.commands.policies import decision, judge, quota
from controlplane.commands.policies.model import POLICY_KIND, Policy, PolicyTest
from events.spec.document import LoadResult, load_documents
from events.spec.model import KafkaClusterDocument
from events.spec.problems import shorten
from events.spec.scalars import PlainText
from events.spec.yaml_tree import MAX_BYTES, read_yaml
from providers.price_list import PriceList

SUFFIX = "*.yaml"


class PoliciesUnreadable(Exception):
    """A file makes no sense. What now: mend it at the places named; until then the last good set holds."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__(self.problems[0])


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of one test of a policy. `fault` is "" when the answer was the one expected."""

    policy: str
    test: str
    fault: str


def read_texts(folder: Path) -> dict[str, str]:
    """Every policy file by name; none where the folder is not there. Raises PoliciesUnreadable, as for a link."""
    try:
        if not folder.exists() and not folder.is_symlink():
            return {}
        found = sorted(folder.iterdir())
        return {file.name: _text(file) for file in found if file.match(SUFFIX)}
    except OSError as error:
        raise PoliciesUnreadable([f"{error.filename or folder.name}: {error.strerror or error}"]) from error
    except UnicodeDecodeError as error:
        raise PoliciesUnreadable([f"{folder.name}: a file is not UTF-8 text"]) from error


def parse(texts: Mapping[str, str]) -> tuple[Policy, ...]:
    """All documents of all files, by name. Raises PoliciesUnreadable with everything that is wrong with them."""
    problems: list[str] = []
    found: dict[str, Policy] = {}
    for file, text in sorted(texts.items()):
        raw = read_yaml(text, file=file)
        problems += [f"{one.where}: {one.message}" for one in raw.problems]
        if not raw.documents and not raw.problems:
            problems.append(f"{file}: the file holds no policy")
        for document in raw.documents:
            mark = document.positions.at(())
            where = f"{file}:{mark.line}"
            try:
                policy = Policy.model_validate(document.value, by_alias=True, by_name=False)
            except ValidationError as error:
                for problem in error.errors(include_url=False, include_context=False, include_input=False):
                    path = tuple(step for step in problem["loc"])
                    place = document.positions.at(path)
                    steps = ".".join(shorten(str(step)) for step in path) or POLICY_KIND
                    message = problem["msg"].removeprefix("Value error, ")
                    problems.append(f"{file}:{place.line}:{place.column}: {steps}: {message}")
                continue
            if policy.name in found:
                problems.append(f"{where}: there is a policy `{policy.name}` already")
            found[policy.name] = policy
    if problems:
        raise PoliciesUnreadable(problems)
    return tuple(found[name] for name in sorted(found))


def try_out(policies: Iterable[Policy], price_list: PriceList) -> list[Trial]:
    """Runs the tests each policy carries, against that policy alone."""
    return [
        Trial(policy.name, test.name, _fault(policy, test, price_list)) for policy in policies for test in policy.tests
    ]


def judge_text(policies: Iterable[Policy], text: str, *, file: str, price_list: PriceList) -> decision.PolicyDecision:
    """What policies say to a file as if nothing of it were in force yet; topics count where their cluster is beside.

    Raises ValueError for a file with errors.
    """
    return _judged(tuple(policies), _loaded(text, file), {}, price_list, rolling=None)


def _fault(policy: Policy, test: PolicyTest, price_list: PriceList) -> str:
    try:
        in_force = _documents(test.in_force, f"{test.name}: inForce") if test.in_force else LoadResult((), ())
        before = {document.metadata.name: document for document in in_force.documents}
        if test.change == "delete":
            if not before:
                return "a deletion needs the cluster in `inForce`"
            verdict = decision.PolicyDecision()
            for document in before.values():
                verdict = verdict.beside(judge.judge_deletion((policy,), document))
        else:
            spec = _documents(test.spec, f"{test.name}: spec")
            have = {(topic.spec.cluster, topic.topic): topic.spec.partitions for topic in in_force.topics}
            verdict = _judged((policy,), spec, before, price_list, rolling=test.rolling, have=have)
    except ValueError as error:
        return str(error)
    problems = [f"{'.'.join(map(str, r.path))}: {r.message}" for r in verdict.refusals] + [
        r.what for r in verdict.reasons
    ]
    said = "; ".join(problems) or "nothing"
    if verdict.word != test.expect:
        return f"expected {test.expect}, but it is {verdict.word}: {said}"
    if test.says and test.says not in said:
        return f"it is {verdict.word}, but `{test.says}` is not in: {said}"
    return ""


def _judged(
    policies: tuple[Policy, ...],
    loaded: LoadResult,
    before: Mapping[str, KafkaClusterDocument],
    price_list: PriceList,
    *,
    rolling: int | None,
    have: Mapping[tuple[str, str], int] = MappingProxyType({}),
) -> decision.PolicyDecision:
    """`rolling` None: as many as the file changes. `have`: partitions in force, by cluster and topic."""
    documents = {document.metadata.name: document for document in loaded.documents}
    changed = sum(name in before and before[name] != document for name, document in documents.items())
    verdict = decision.PolicyDecision()
    for name, document in documents.items():
        change = judge.ClusterChange(before.get(name), document, changed if rolling is None else rolling)
        others = _others({**before, **documents}, have, name)
        verdict = verdict.beside(judge.judge_cluster(policies, change, price_list))
        verdict = verdict.beside(quota.judge_cluster_quotas(policies, change, others, price_list))
    homes = {**before, **documents}
    for name in dict.fromkeys(topic.spec.cluster for topic in loaded.topics):
        if name not in homes:
            raise ValueError(f"the cluster `{name}` of a topic is not in the file: put it beside the topic")
        own = [topic for topic in loaded.topics if topic.spec.cluster == name]
        others, names = _others(homes, have, name), {topic.topic for topic in own}
        beside = sum(n for (home, topic), n in have.items() if home == name and topic not in names)
        now = sum(n for (home, topic), n in have.items() if home == name and topic in names)
        topics = judge.TopicsChange(homes[name], own, beside, partitions_now=now)
        verdict = verdict.beside(judge.judge_topics(policies, topics)).beside(
            quota.judge_topic_quotas(policies, topics, others)
        )
    return verdict.beside(_of_users(loaded, policies, homes))


def _of_users(
    loaded: LoadResult, policies: Sequence[Policy], homes: Mapping[str, KafkaClusterDocument]
) -> decision.PolicyDecision:
    verdict = decision.PolicyDecision()
    for name in dict.fromkeys(user.spec.cluster for user in loaded.users):
        if name not in homes:
            raise ValueError(f"the cluster `{name}` of a user is not in the file: put it beside the user")
        own = [user for user in loaded.users if user.spec.cluster == name]
        verdict = verdict.beside(judge.judge_users(policies, judge.UsersChange(homes[name], own)))
    return verdict


def _others(
    homes: Mapping[str, KafkaClusterDocument], have: Mapping[tuple[str, str], int], name: str
) -> list[quota.OtherCluster]:
    partitions = Counter[str]()
    for (home, _), count in have.items():
        partitions[home] += count
    return [quota.OtherCluster(document, partitions[home]) for home, document in homes.items() if home != name]


def _documents(documents: Sequence[Mapping[str, Any]], file: str) -> LoadResult:
    return _loaded(yaml.dump_all(list(documents), Dumper=_AsRead, sort_keys=False), file)


class _AsRead(yaml.SafeDumper):
    """Writes scalars as plain as they were read: a number stays one."""


def _plain(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    tag: str = dumper.resolve(yaml.ScalarNode, str(text), (True, False))  # type: ignore[no-untyped-call]
    return dumper.represent_scalar(tag, str(text))


_AsRead.add_multi_representer(PlainText, _plain)


def _loaded(text: str, file: str) -> LoadResult:
    loaded = load_documents(text, file=file)
    if not loaded.ok:
        raise ValueError(f"{loaded.errors[0].where}: {loaded.errors[0].message}")
    return loaded


def _text(file: Path) -> str:
    if file.is_symlink() or not file.is_file():
        raise PoliciesUnreadable([f"{file.name}: a policy is a plain file, no link and no folder"])
    if file.stat().st_size > MAX_BYTES:
        raise PoliciesUnreadable([f"{file.name}: larger than {MAX_BYTES // 1024} KiB"])
    return file.read_text(encoding="utf-8")
