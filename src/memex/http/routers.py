"""Routers of routes that are there twice: for agents, and below /v1/admin for admins."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from fastapi import APIRouter, Depends
from fastapi.routing import APIRoute

from memex.http.callers import KeyedRoute, set_admin_role, set_agent_role
from memex.http.calls import handler_of
from memex.routes import ROUTES

F = TypeVar("F", bound=Callable[..., Any])

AGENT_BASE, ADMIN_BASE = "/v1", "/v1/admin"


def agent_router(path: str, tag: str, route_class: type[APIRoute] = KeyedRoute) -> APIRouter:
    """Return a router of routes for agents, below /v1."""
    return APIRouter(
        prefix=AGENT_BASE + path, tags=[tag], route_class=route_class, dependencies=[Depends(set_agent_role)]
    )


def admin_router(path: str, route_class: type[APIRoute] = KeyedRoute) -> APIRouter:
    """Return a router of routes for admins, below /v1/admin."""
    return APIRouter(
        prefix=ADMIN_BASE + path,
        tags=["admin"],
        route_class=route_class,
        dependencies=[Depends(set_admin_role)],
    )


def operation(router: APIRouter, name: str, **options: Any) -> Callable[[F], F]:
    """Put the handler of an operation on a router, made of a declaration; see `handler_of`."""

    def register(declared: F) -> F:
        handler(router, name, **options)(handler_of(name, declared))
        return declared

    return register


def handler(router: APIRouter, name: str, **options: Any) -> Callable[[F], F]:
    """Put a handler that is written by hand on a router, at the route of an operation; see `memex.routes`."""
    route = ROUTES[name]
    base = ADMIN_BASE if router.prefix.startswith(ADMIN_BASE) else AGENT_BASE
    path = f"{base}{route.path}".removeprefix(router.prefix)
    return router.api_route(path, methods=[route.method], **options)


class RouterPair:
    """A router for agents and one for admins, which have routes of the same declarations.

    Args:
        path: below /v1, and below /v1/admin.
        tag: the tag of the routes for agents.
        route_class: looks at the key.
        as_admin: what the summary of a route for admins ends with, where it is not given.
        admin_description: the description of the routes for admins, where it is not given.
    """

    def __init__(
        self,
        path: str,
        tag: str,
        *,
        route_class: type[APIRoute] = KeyedRoute,
        as_admin: str = ", as an admin",
        admin_description: str | None = None,
    ) -> None:
        self._path = path
        self._as_admin, self._admin_description = as_admin, admin_description
        self.agent = agent_router(path, tag, route_class)
        self.admin = admin_router(path, route_class)

    def operation(
        self,
        name: str,
        *,
        at: tuple[str, str] | None = None,
        names: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Callable[[F], F]:
        """Put the handler of an operation on each router, made of a declaration; see `handler_of` and `route`.

        `at` has the method and the path of another route of the operation than that of `memex.routes`, and
        `names` the names of arguments at this path, by their names in it.
        """
        route = ROUTES[name]
        method, path = at or (route.method, route.path)

        def register(declared: F) -> F:
            self._add(method, path, lambda: handler_of(name, declared, names), **options)
            return declared

        return register

    def handler(self, name: str, **options: Any) -> Callable[[F], F]:
        """Put a handler that is written by hand on both routers, at the route of an operation; see `route`."""
        return self.route(ROUTES[name].method, ROUTES[name].path.removeprefix(self._path), **options)

    def route(self, method: str, path: str, **options: Any) -> Callable[[F], F]:
        """Put a handler that is written by hand on both routers.

        The path is below that of the pair; `options` are as `_add` takes them.
        """

        def register(handler: F) -> F:
            self._add(method, self._path + path, lambda: handler, **options)
            return handler

        return register

    def _add(
        self,
        method: str,
        path: str,
        make: Callable[[], Callable[..., Any]],
        *,
        summary: str,
        admin_summary: str | None = None,
        admin_description: str | None = None,
        **options: Any,
    ) -> None:
        """Add a route to each router.

        `make` returns the handler, whose docstring describes the route for agents; the operation id of the route
        for admins ends in `_as_admin`. `options` are what FastAPI takes besides, for both routes.
        """
        place, handler = path.removeprefix(self._path), make()
        self.agent.add_api_route(place, handler, methods=[method], summary=summary, **options)
        as_admin = make()
        self.admin.add_api_route(
            place,
            as_admin,
            methods=[method],
            name=f"{as_admin.__name__}_as_admin",
            summary=admin_summary or f"{summary}{self._as_admin}",
            description=admin_description or self._admin_description,
            **options,
        )
