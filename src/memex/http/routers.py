"""Routers of routes that are there twice: for agents, and below /v1/admin for admins."""

from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import APIRouter, Depends
from fastapi.routing import APIRoute

from memex.http.callers import KeyedRoute, set_admin_role, set_agent_role
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
    """Put a handler on a router, at the route of an operation; see `memex.routes`."""
    route = ROUTES[name]
    base = ADMIN_BASE if router.prefix.startswith(ADMIN_BASE) else AGENT_BASE
    path = f"{base}{route.path}".removeprefix(router.prefix)
    return router.api_route(path, methods=[route.method], **options)


class RouterPair:
    """A router for agents and one for admins, of which some routes have the same handler.

    Args:
        path: below /v1, and below /v1/admin.
        tag: the tag of the routes for agents.
        route_class: looks at the key.
    """

    def __init__(self, path: str, tag: str, *, route_class: type[APIRoute] = KeyedRoute) -> None:
        self._path = path
        self.agent = agent_router(path, tag, route_class)
        self.admin = admin_router(path, route_class)

    def operation(self, name: str, **options: Any) -> Callable[[F], F]:
        """Put a handler on both routers, at the route of an operation; see `memex.routes`, and `route`."""
        route = ROUTES[name]
        return self.route(route.method, route.path.removeprefix(self._path), **options)

    def route(
        self,
        method: str,
        path: str,
        *,
        summary: str,
        admin_summary: str,
        admin_description: str,
        **options: Any,
    ) -> Callable[[F], F]:
        """Put a handler on both routers.

        Args:
            method: the HTTP method.
            path: below the path of the pair.
            summary: the summary of the route for agents; the docstring of the handler is its description.
            admin_summary: the summary of the route for admins, whose operation id ends in `_as_admin`.
            admin_description: the description of the route for admins.
            options: what FastAPI takes besides, for both routes.
        """

        def register(handler: F) -> F:
            self.agent.add_api_route(path, handler, methods=[method], summary=summary, **options)
            self.admin.add_api_route(
                path,
                handler,
                methods=[method],
                name=f"{handler.__name__}_as_admin",
                summary=admin_summary,
                description=admin_description,
                **options,
            )
            return handler

        return register
