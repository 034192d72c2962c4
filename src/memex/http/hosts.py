"""The hosts by which this service is known: pages of other sites must not speak to it through a browser."""

from urllib.parse import urlsplit

from fastapi import Request

from memex.errors import Forbidden
from memex.settings import Settings

LOOPBACK = ("localhost", "127.0.0.1", "::1")
ANY_ADDRESS = ("0.0.0.0", "::")  # noqa: S104  # no name of this service
HOST_HINT = "Name the host in MEMEX_ALLOWED_HOSTS where the service runs; hosts are separated by commas."


class KnownHosts:
    """The names that the header Host may have."""

    def __init__(self, settings: Settings) -> None:
        named = [host.strip() for host in (settings.allowed_hosts or "").split(",")]
        own = [] if settings.host in ANY_ADDRESS else [settings.host]
        self._is_open = "*" in named
        self._hosts = {*LOOPBACK, *filter(None, map(hostname, [*named, *own]))}

    def check(self, request: Request) -> None:
        """Refuse a request by which another site's page might speak through a browser.

        Raises:
            Forbidden: the Host is not known, or there is an Origin that is not.
        """
        if self._is_open:
            return
        origin = request.headers.get("origin")
        if hostname(request.headers.get("host", "")) not in self._hosts:
            raise Forbidden("The request is for a host that this service is not known by.", hint=HOST_HINT)
        if origin is not None and hostname(origin) not in self._hosts:
            raise Forbidden("The request comes from a page of another site.", hint=HOST_HINT)


def hosts_of(request: Request) -> KnownHosts:
    """Return the hosts by which the service of a request is known."""
    hosts: KnownHosts = request.app.state.hosts
    return hosts


def hostname(address: str) -> str | None:
    """Return the host of a Host header, an Origin or a name, in lower case; None for what is none."""
    try:
        return urlsplit(address if "://" in address else f"//{address}").hostname
    except ValueError:
        return None
