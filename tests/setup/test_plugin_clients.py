"""Clients with a plugin of Memex: what stands in their files, and when something is missing."""

from pathlib import Path

import pytest

from memex.errors import ValidationFailed
from memex.setup import jsontext, yamltext
from memex.setup.hooks import HOOK_CLIENTS, HookClient
from memex.setup.plugin_clients import PLUGINS, PluginClient, plugin_entry

ENTRY = plugin_entry('/opt/m "x"/memex-hook')


def changed(agent: HookClient | PluginClient, text: str) -> str:
    """Return the text of the first file of a client with the plugin in it."""
    [_, change] = agent.texts(agent.file(None), ENTRY)[0]
    return change(text)


def test_opencode_has_a_file_of_its_own() -> None:
    """It names the plugin and the program, and is missing where the plugin is not there any more."""
    agent = HOOK_CLIENTS["opencode"]

    text = changed(agent, "")

    assert text.endswith('export default memexPlugin("/opt/m \\"x\\"/memex-hook")\n')
    assert changed(agent, text) == text
    assert agent.missing_of(lambda _: text) == []
    for wrong in ("", text.replace("opencode.mjs", "gone.mjs"), text.replace(PLUGINS.name, "gone")):
        assert agent.missing_of(lambda _, wrong=wrong: wrong) == list(agent.events)
    with pytest.raises(ValidationFailed):
        agent.file("project")


def test_hermes_has_a_provider_and_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both files are needed; another memory provider is never replaced, and what Memex wrote can be taken out."""
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))
    agent = HOOK_CLIENTS["hermes"]
    [(provider, write_provider), (config, write_config)] = agent.texts(agent.file(None), ENTRY)
    before = "# mine\nmodel:\n  default: m\n"

    written = {provider: write_provider(""), config: write_config(before)}

    assert (provider.relative_to(tmp_path), config) == (
        Path("plugins/memex/__init__.py"),
        tmp_path / "config.yaml",
    )
    compile(written[provider], str(provider), "exec")
    assert written[config] == before + "memory:\n  provider: memex\n"
    assert write_config(written[config]) == written[config]
    assert agent.missing_of(written.__getitem__) == []
    for path in written:
        assert agent.missing_of((written | {path: before}).__getitem__) == list(agent.events)
    [take_out] = agent.taken_out().values()
    assert yamltext.value_of(take_out(written[config]), "memory", "provider") is None
    for other in ("memory:\n  provider: honcho\n", "memory: {provider: honcho}\n", "memory: {}\nmemory:\n"):
        with pytest.raises(ValidationFailed):
            write_config(other)


def test_openclaw_loads_the_plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other plugins, its own memory and comments stay; the plugin may see words, and can be taken out again."""
    monkeypatch.setenv("OPENCLAW_STATE_DIR", str(tmp_path))
    agent = HOOK_CLIENTS["openclaw"]
    [(path, write)] = agent.texts(agent.file(None), ENTRY)
    before = """{
  // mine
  "plugins": {
    "slots": { "memory": "memory-core" },
    "allow": ["a"],
    "load": { "paths": ["/their/setup/plugins/openclaw-a", "/old/setup/plugins/openclaw"] },
  }
}
"""

    text = write(before)

    assert path == tmp_path / "openclaw.json"
    plugins = jsontext.parse(text)["plugins"]
    assert plugins["load"]["paths"] == ["/their/setup/plugins/openclaw-a", str(PLUGINS / "openclaw")]
    assert plugins["allow"] == ["a", "memex"]
    assert plugins["slots"] == {"memory": "memory-core"}
    assert plugins["entries"]["memex"]["hooks"] == {"allowConversationAccess": True}
    assert plugins["entries"]["memex"]["config"] == {"program": ENTRY["program"]}
    assert "// mine" in text
    assert write(text) == text
    assert agent.missing_of(lambda _: text) == []
    [take_out] = agent.taken_out().values()
    for other in ("", before, take_out(text), text.replace(str(PLUGINS), "/gone")):
        assert agent.missing_of(lambda _, other=other: other) == list(agent.events)
    assert jsontext.parse(write(""))["plugins"]["load"]["paths"] == [str(PLUGINS / "openclaw")]
    for broken in (
        "{plugins: {}}",
        "[]",
        '{"plugins": 1}',
        '{"plugins": {"enabled": false}}',
        '{"plugins": {"load": 1}}',
    ):
        with pytest.raises(ValidationFailed):
            write(broken)
    assert agent.missing_of(lambda _: "{plugins: {}}") == list(agent.events)


def test_a_setting_is_put_into_any_yaml() -> None:
    """Other lines, comments, indents and line ends stay; a setting of another section is another one."""
    for text, expected in (
        ("", "memory:\n  provider: memex\n"),
        ("memory:\n", "memory:\n  provider: memex\n"),
        (
            "memory:  # of mine\n\n    # one\n    a: 1\nb: 2",
            "memory:  # of mine\n    provider: memex\n\n    # one\n    a: 1\nb: 2\n",
        ),
        ("memory:\n  provider: ''  # none\nx: 1\n", "memory:\n  provider: memex  # none\nx: 1\n"),
        (
            "memory:\r\n  a:\r\n    provider: x\r\n",
            "memory:\r\n  provider: memex\r\n  a:\r\n    provider: x\r\n",
        ),
        ("other:\n  provider: x\n", "other:\n  provider: x\nmemory:\n  provider: memex\n"),
        ("memory:\nprovider: x\n", "memory:\n  provider: memex\nprovider: x\n"),
    ):
        assert yamltext.value_of(text, "memory", "provider") is None
        put = yamltext.put_value(text, "memory", "provider", "memex")
        assert put == expected
        assert yamltext.value_of(put, "memory", "provider") == "memex"
        assert yamltext.put_value(put, "memory", "provider", "memex") == put
    assert yamltext.value_of('"memory":\n  provider: "honcho"\n', "memory", "provider") == "honcho"
