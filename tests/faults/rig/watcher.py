"""Runs in namespaces of its own, where every address leads back to this machine, and prints what is called.

A program: `watched.py` starts it by `unshare`. It needs the standard library, `ip` and `mount`, and ends when its
input ends. Lines that it prints: `ready`, `look-up NAME`, and `tcp|udp|PROTOCOL ADDRESS:PORT`, each once.
"""

import ipaddress
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

ANY_PROTOCOL = 0x0003  # ETH_P_ALL
IPV4, IPV6 = 0x0800, 0x86DD
TCP, UDP, ICMP, ICMPV6 = 6, 17, 1, 58
HEAD_BYTES = 128  # of a packet: what it holds is nobody's matter
SYN, ACK = 0x02, 0x10
DNS_PORT = 53
ANSWER = ipaddress.IPv4Address("198.51.100.7")  # of every name: an address for documentation
BUFFER_BYTES = 64 << 20
SOL_PACKET, PACKET_STATISTICS = 263, 6
SO_RCVBUFFORCE = 33

LAST = ("127.0.0.9", 9)  # where the watcher sends a datagram when it ends, so that it has seen all before
PATIENCE_S = 60

HAS_IPV6 = Path("/proc/net/if_inet6").exists()

_said: set[str] = set()
_has_seen_all = threading.Event()
_saying = threading.Lock()


def main(folder: Path) -> None:
    """Set the namespaces up, and print what is called until the input ends."""
    _mount(folder)
    _route()
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ANY_PROTOCOL))
    try:
        packets.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
    except PermissionError:  # root of a user namespace takes what it gets; lost packets are counted below
        packets.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
    threading.Thread(target=_watch, args=(packets,), daemon=True).start()
    _serve_names(socket.AF_INET, "0.0.0.0")
    if HAS_IPV6:
        _serve_names(socket.AF_INET6, "::")
    _say("ready")
    sys.stdin.read()
    socket.socket(type=socket.SOCK_DGRAM).sendto(b"", LAST)
    if not _has_seen_all.wait(PATIENCE_S):
        sys.exit("The packets are not watched any more.")
    _, lost = struct.unpack("II", packets.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
    if lost:
        _say(f"lost {lost}")


def _mount(folder: Path) -> None:
    """Have names looked up here; nothing of it shows outside."""
    for place, text in (
        ("/etc/resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"),
        ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"),
    ):
        if Path(place).exists():
            written = folder / Path(place).name
            written.write_text(text)
            _run("mount", "--bind", str(written), place)


def _route() -> None:
    """Have every address lead to the loopback interface, so that each packet passes where it is seen."""
    _run("ip", "link", "set", "lo", "up")
    _run("ip", "route", "add", "local", "default", "dev", "lo")
    if HAS_IPV6:
        _run("ip", "-6", "route", "add", "local", "default", "dev", "lo")


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


def _watch(packets: socket.socket) -> None:
    while True:
        packet, (_, protocol, kind, *_) = packets.recvfrom(HEAD_BYTES)
        called = None if kind == socket.PACKET_OUTGOING else _called(protocol, packet)
        if called == "udp {}:{}".format(*LAST):
            _has_seen_all.set()
        elif called is not None:
            _say(called)


def _called(protocol: int, packet: bytes) -> str | None:
    """Return whom a packet calls; None if it answers, belongs to a connection that stands, or is no call."""
    if protocol == IPV4:
        carried, address, rest = packet[9], packet[16:20], packet[(packet[0] & 0x0F) * 4 :]
    elif protocol == IPV6:
        carried, address, rest = packet[6], packet[24:40], packet[40:]
    else:
        return None
    if carried in (ICMP, ICMPV6):  # the system's own, such as "nobody listens at this port"
        return None
    sender, port = struct.unpack("!HH", rest[:4])
    if (carried == TCP and rest[13] & (SYN | ACK) != SYN) or (carried == UDP and sender == DNS_PORT):
        return None
    name = {TCP: "tcp", UDP: "udp"}.get(carried, f"protocol-{carried}")
    return f"{name} {ipaddress.ip_address(address)}:{port}"


def _serve_names(family: socket.AddressFamily, address: str) -> None:
    names = socket.socket(family, socket.SOCK_DGRAM)
    if family == socket.AF_INET6:
        names.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    names.bind((address, DNS_PORT))
    threading.Thread(target=_answer, args=(names,), daemon=True).start()


def _answer(names: socket.socket) -> None:
    """Answer each look-up of a name with an address, so that the caller goes on to call it."""
    while True:
        query, caller = names.recvfrom(1_500)
        labels, at = [], 12
        while size := query[at]:
            labels.append(query[at + 1 : at + 1 + size].decode(errors="replace"))
            at += 1 + size
        question = query[12 : at + 5]
        is_ipv4 = question[-4:-2] == b"\0\1"
        _say(f"look-up {'.'.join(labels)}")
        answer = query[:2] + b"\x81\x80\0\1" + struct.pack("!HHH", is_ipv4, 0, 0) + question
        if is_ipv4:
            answer += b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\x04" + ANSWER.packed
        names.sendto(answer, caller)


def _say(line: str) -> None:
    with _saying:
        if line not in _said:
            _said.add(line)
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
