"""What one word of a spec stands for: `preset: production` or `preset: development`.

A preset is spelt out when a file is read: every field it names that the file does not is put in, and from then on the
document says it itself. So a release that would mean something else by a word changes no cluster, and whoever reads a
document needs no preset. What a word stands for is never changed: another meaning gets another word.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Literal

PresetName = Literal["production", "development"]
Tree = Mapping[str, Any]

PRESETS: Mapping[str, Tree] = MappingProxyType(
    {
        "production": {
            "kafka": {"image": {"follow": "security", "critical": "waits"}},
            "healing": {"restart": True, "replace": True, "lostDisk": "reattach"},
            "health": {"heartbeats": True, "watchGroups": True},
            "balance": {
                "after": "scale-up",
                "continuous": True,
                "placement": {"correct": True},
                "preferredLeaders": "restore",
            },
            "deletionPolicy": "retain",
        },
        "development": {
            "kafka": {"image": {"follow": "none"}},
            "health": {"heartbeats": False, "watchGroups": False},
            "balance": {"continuous": False, "placement": {"correct": False}},
        },
    }
)
"""In the words of the YAML, below `spec`."""

_NOT_OF_OTHERS = ("health.heartbeats", "balance.continuous", "balance.placement.correct", "kafka")
"""What is not offered, or not Kedge's to say, while others run a part of the cluster."""

INTERNAL = ("security", "internal")
"""What `production` says of new clusters alone (`events.spec.birth`)."""

_NONE: Any = object()


def spelt_out(data: dict[str, Any]) -> dict[str, Any]:
    """A document's data with what its preset stands for where it says nothing itself; the same data where it has none,
    or where no preset is called so, which the model refuses."""
    spec = data.get("spec")
    if not isinstance(spec, dict) or not isinstance(spec.get("preset"), str) or spec["preset"] not in PRESETS:
        return data
    for path, value in meant(spec):
        spec = _with(spec, path, value)
    return {**data, "spec": spec}


def meant(spec: Tree) -> Iterator[tuple[tuple[str, ...], Any]]:
    """(path below `spec`, value) of every field that the preset of a spec stands for; nothing without a preset."""
    left_out = _NOT_OF_OTHERS if spec.get("external") is not None else ()
    if _at(spec, ("kafka", "distribution")) not in (_NONE, None):
        left_out = (*left_out, "kafka.image")  # VMs with a build of one's own are of no revision
    pools = tuple(_pools(spec))
    if pools and not any(map(_passes_its_disk_on, pools)):
        left_out = (*left_out, "healing.lostDisk")
    for path, value in _leaves(PRESETS.get(spec.get("preset") or "", {})):
        name = ".".join(path)
        if not any(name == one or name.startswith(f"{one}.") for one in left_out):
            yield path, value


def is_tls_meant(spec: Tree) -> bool:
    """Whether a new cluster with this spec is to speak TLS between its nodes unless it says otherwise: `production`
    where that is offered. Not in mode `zookeeper`, from where no cluster that speaks TLS comes to KRaft."""
    if spec.get("preset") != "production" or spec.get("external") is not None:
        return False
    version = _at(spec, ("kafka", "version"))
    return _at(spec, ("kafka", "mode")) in (_NONE, "kraft") and not str(version).startswith("3.")


def as_said(told: dict[str, Any], full: Tree) -> dict[str, Any]:
    """The shortest spec that reads as `full` again: what its preset stands for is left out, and what that does not mean
    is said, a default too. `told` is the spec without its defaults."""
    for path, value in meant(full):
        is_now = _at(full, path)
        if is_now == value:
            told = _without(told, path)
        elif is_now is not _NONE:
            told = _put(told, path, is_now)
    if is_tls_meant(full) and _at(full, INTERNAL) == "plaintext":
        told = _put(told, INTERNAL, "plaintext")  # unsaid it would be another thing for a new cluster
    return told


def words(spec: Tree) -> Iterator[str]:
    """For people: what the preset of a spec sets, and of which of that the spec says something else itself."""
    told = {".".join(path): (value, _at(spec, path)) for path, value in meant(spec)}
    if not told:
        return
    sets = [f"{path}={_word(value)}" for path, (value, is_now) in told.items() if value == is_now]
    own = [f"{path}={_word(is_now)}" for path, (value, is_now) in told.items() if is_now not in (value, _NONE)]
    yield f"{spec['preset']} stands for {', '.join(sets) or 'nothing here'}"
    if own:
        yield f"the spec says itself {', '.join(own)}"
    if is_tls_meant(spec):
        is_tls = _at(spec, INTERNAL) == "tls"
        why = "as a new cluster of production is" if is_tls else "as the spec says, or the living cluster has it"
        yield f"its nodes speak {'TLS' if is_tls else 'plaintext'} among themselves (security.internal), {why}"


def _pools(spec: Tree) -> Iterator[Tree]:
    pools = spec.get("pools")
    yield from (pool for pool in pools if isinstance(pool, Mapping)) if isinstance(pools, list | tuple) else ()


def _passes_its_disk_on(pool: Tree) -> bool:
    """Whether a lost broker's disk outlives its VM, and no ZooKeeper server beside it stands in the way
    (`events.spec.storage_rules`)."""
    services, kind = pool.get("services"), _at(pool, ("disk", "kind"))
    passes = isinstance(services, list | tuple) and "broker" in services and "zookeeper" not in services
    return passes and kind != "ephemeral"


def _leaves(tree: Tree, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, (*path, key))
        else:
            yield (*path, key), value


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _at(tree: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        if not isinstance(tree, Mapping) or step not in tree:
            return _NONE
        tree = tree[step]
    return tree


def _with(tree: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """With the value where nothing is said; what has another shape is left for the model to refuse."""
    step, *rest = path
    if not rest:
        return tree if step in tree else {**tree, step: value}
    below = tree.get(step, {})
    return {**tree, step: _with(below, tuple(rest), value)} if isinstance(below, dict) else tree


def _put(tree: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    step, *rest = path
    return {**tree, step: _put(tree.get(step, {}), tuple(rest), value) if rest else value}


def _without(tree: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    step, *rest = path
    if step not in tree:
        return tree
    below = _without(tree[step], tuple(rest)) if rest else {}
    left = {key: value for key, value in tree.items() if key != step}
    return {**tree, step: below} if below else left
