"""Ports of this machine."""

import socket


def free_port() -> int:
    """Return a port on which nobody listens."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        return int(holder.getsockname()[1])
