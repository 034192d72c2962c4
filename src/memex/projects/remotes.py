"""The address of a git remote in one form, whatever way it is written. Pure."""

import re
from urllib.parse import urlsplit

MAX_REMOTE_CHARS = 300
_SCP = re.compile(r"(?:[^@/\s:]+@)?([^@/\s:]{2,}):(?!//)(\S+)")  # a single letter is a drive of Windows
_DEFAULT_PORTS = {22, 80, 443, 9418}
_SCHEMES = {"https", "http", "ssh", "git", "git+ssh", "git+https", "ftp", "ftps"}
_IGNORE_CASE = {"github.com", "gitlab.com", "bitbucket.org", "codeberg.org"}


def normalise_remote(url: str) -> str | None:
    """Return `host/path` of a remote, without a user, a password or `.git`; None for a path of this machine.

    `git@github.com:Acme/Apollo.git` and `https://token@github.com/acme/apollo/` are both `github.com/acme/apollo`.
    """
    url = url.strip()
    if not url or len(url) > 10 * MAX_REMOTE_CHARS or not url.isprintable():
        return None
    host, path = _parts(url)
    path = path.strip("/").removesuffix(".git").rstrip("/")
    segments = path.split("/")
    if not host or not path or any(segment in ("", ".", "..") for segment in segments):
        return None
    host = host.lower()
    if host.partition(":")[0] in _IGNORE_CASE:
        path = path.lower()
    remote = f"{host}/{path}"
    return remote if len(remote) <= MAX_REMOTE_CHARS else None


def _parts(url: str) -> tuple[str, str]:
    if "://" in url:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            return "", ""
        if parts.scheme.lower() not in _SCHEMES or not parts.hostname:
            return "", ""
        suffix = f":{port}" if port is not None and port not in _DEFAULT_PORTS else ""
        return parts.hostname + suffix, parts.path
    found = _SCP.fullmatch(url)
    return (found[1], found[2]) if found else ("", "")
