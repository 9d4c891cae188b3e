"""Names of others as parts of an address: which can be one, and where the page of a group is.

Browsers, proxies and clients shorten `/..` and `/.` before anybody is asked, written as `%2e%2e` too, and routes match
no line break. A name that cannot be a part of a path goes as a parameter.
"""

from urllib.parse import quote, urlencode


def is_path_part(name: str) -> bool:
    """Whether the name, quoted, comes out of a path as it went in."""
    return name not in ("", ".", "..") and name.isprintable()


def group_address(cluster: str, group: str, **parameters: str) -> str:
    """Where the portal has a consumer group: Kafka takes any text as its name."""
    path = f"/clusters/{quote(cluster, safe='')}"
    if is_path_part(group):
        return f"{path}/groups/{quote(group, safe='')}" + (f"?{urlencode(parameters)}" if parameters else "")
    return f"{path}/group?{urlencode({'group': group, **parameters})}"
