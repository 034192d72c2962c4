"""Uses a service as agents and people do: `python ordinary_use.py URL AGENT_KEY ADMIN_KEY SECONDS`, a program.

It first waits until search by meaning answers, which needs the embedder; the seconds count from then on.
"""

import io
import re
import sys
import time
import zipfile

import httpx2

PATIENCE_S = 120
MAX_PAGES = 40
LINKS = re.compile(r"""(?:href|src)="(/ui[^"#]*)""")


def main(url: str, agent_key: str, admin_key: str, seconds: float) -> None:
    """Use the service for so many seconds; raise what it refuses."""
    headers = {"Authorization": f"Bearer {agent_key}", "Memex-User": "alice"}
    with httpx2.Client(base_url=url, headers=headers, timeout=PATIENCE_S) as agent:
        _import(agent)
        _call(agent, "memory_remember", text="My sister Ines lives in Lisbon. I take no milk in my coffee.")
        deadline = time.monotonic() + PATIENCE_S
        while not _call(agent, "memory_find", query="a beverage without dairy", mode="vectors")["hits"]:
            assert time.monotonic() < deadline, "search by meaning finds nothing"
            time.sleep(0.5)
        started, rounds, pages = time.monotonic(), 0, 0
        while time.monotonic() < started + seconds:
            rounds += 1
            _call(agent, "memory_remember", text=f"On trip {rounds} we took the night train.")
            assert "Ines" in str(_call(agent, "memory_context", query="Where does my sister live?"))
            _call(agent, "memory_find", query="journey by rail", mode="hybrid")
            if rounds == 1:
                pages = _read_pages(url, admin_key)
            time.sleep(1)
    sys.stdout.write(f"{rounds} rounds, {pages} pages\n")


def _import(agent: httpx2.Client) -> None:
    vault = io.BytesIO()
    with zipfile.ZipFile(vault, "w") as written:
        for name in ("beds", "compost", "roses"):
            written.writestr(f"{name}.md", f"# {name}\n\nWhat is known about {name} in the garden.\n")
    sent = {"Content-Type": "application/zip"}
    agent.post("/v1/import", content=vault.getvalue(), headers=sent).raise_for_status()


def _call(agent: httpx2.Client, tool: str, **arguments: str) -> dict[str, list[str]]:
    called = f"/v1/tools/{tool}/execute"
    answer = agent.post(called, json={"context": {"userId": "alice"}, "arguments": arguments})
    assert answer.is_success, answer.text
    found: dict[str, list[str]] = answer.json()
    return found.get("result", found)  # type: ignore[return-value]


def _read_pages(url: str, admin_key: str) -> int:
    """Sign in, read all pages that the first ones link to, and return how many that were."""
    with httpx2.Client(base_url=url, headers={"Origin": url}, timeout=PATIENCE_S) as person:
        assert person.post("/ui/sign-in", data={"key": admin_key}).status_code == 303
        read, waiting = set[str](), ["/ui", "/docs", "/openapi.json", "/health/ready", "/metrics"]
        while waiting and len(read) < MAX_PAGES:
            path = waiting.pop(0)
            read.add(path)
            page = person.get(path, follow_redirects=True)
            assert page.is_success, f"{path}: {page.status_code}"
            found = (link.replace("&amp;", "&") for link in LINKS.findall(page.text))
            waiting += [link for link in found if link not in read and link not in waiting]
    return len(read)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4]))
