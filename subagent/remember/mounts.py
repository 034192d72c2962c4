"""Rules about mounts: which paths a call may write, and which links a file may hold. Pure."""

from memex.store import links
from memex.subagent.statements.places import mount_of


def may_link(mount: str, path: str) -> bool:
    """Tell whether a file of a mount may link to a path: a file that others read never names a private path."""
    return mount == "user" or mount_of(path) in (mount, "shared")


def link_target(mount: str, path: str) -> str | None:
    """Return how a file of a mount writes a link to a path: without the mount if the path lies in the same mount.

    None where `[[target]]` would not link to the path, because its name holds a bar, a bracket or a `#`.
    """
    target = path.removeprefix(f"{mount}/")
    target = target[:-3] if target.lower().endswith(".md") else target
    found = links.parse(f"[[{target}]]", "")
    return target if [link.targets for link in found] == [(links.key(target),)] else None


def is_writable(path: str, project: str | None) -> bool:
    """Tell whether a call about a project may write a path, which lies in the user's mount or in that project's."""
    return mount_of(path) == "user" or (project is not None and mount_of(path) == f"projects/{project}")
