"""Settings: what of the environment counts."""

from pathlib import Path

import pytest

from memex.errors import ValidationFailed
from memex.mirror.roots import PushedRoot, RootsFile
from memex.settings import parse_model_seconds, read_settings


def test_only_variables_of_memex_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """A desktop's LANGUAGE is no setting, nor is any other variable with the name of a field."""
    monkeypatch.setenv("MEMEX_LANGUAGE", "")
    monkeypatch.setenv("LANGUAGE", "en_US:en")
    monkeypatch.setenv("URL", "http://elsewhere.example")
    monkeypatch.setenv("port", "1")
    settings = read_settings()

    assert settings.language == "english"
    assert settings.url is None
    assert settings.port != 1

    monkeypatch.setenv("MEMEX_LANGUAGE", "german")
    assert read_settings().language == "german"


def test_the_seconds_of_a_model_are_one_number_or_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """By default a context gets fewer; one number holds for all calls, and what is out of range is refused."""
    monkeypatch.delenv("MEMEX_MODEL_SECONDS", raising=False)
    default = read_settings().model_seconds
    read = {}
    for text in ("300", "12.5/120"):
        monkeypatch.setenv("MEMEX_MODEL_SECONDS", text)
        read[text] = parse_model_seconds(read_settings().model_seconds)

    assert parse_model_seconds(default) == (8, 60)
    assert read == {"300": (300, 300), "12.5/120": (12.5, 120)}
    for wrong in ("0", "8/0", "8/3601", "8/", "/8", "8/60/60", "soon", "-8/60", "1e9"):
        monkeypatch.setenv("MEMEX_MODEL_SECONDS", wrong)
        with pytest.raises(ValidationFailed, match="MEMEX_MODEL_SECONDS"):
            read_settings()


def test_one_file_holds_settings_and_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A variable goes before a line; what is wrong names the file; folders of the older file go along."""
    file = tmp_path / ".memex" / "config.toml"
    monkeypatch.setenv("MEMEX_CONFIG", str(file))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("MEMEX_LANGUAGE", "french")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    RootsFile().put(PushedRoot(tmp_path / "a", "a"))
    older = RootsFile().older
    assert (RootsFile().path, older.exists()) == (older, True)

    file.parent.mkdir()
    file.write_text(
        '# mine\n[settings]\nlanguage = "german"\nport = 9000\n\n[[roots]]\n'
        f'name = "b"\nfolder = "{tmp_path}/b"\n'
    )
    settings, roots = read_settings(), RootsFile().read()
    RootsFile().put(PushedRoot(tmp_path / "b", "b", "shop"))

    assert (settings.language, settings.port) == ("french", 9000)
    assert sorted(root.name for root in roots) == ["a", "b"]
    assert file.read_text().startswith('# mine\n[settings]\nlanguage = "german"')
    assert not older.exists()
    assert sorted(root.shown for root in RootsFile().read()) == ["a", "b", "shop/b"]
    for wrong in ("[settings]\nnothing = 1\n", "settings = 1\n", "[settings\n", '[settings]\nport = "x"\n'):
        file.write_text(wrong)
        with pytest.raises(ValidationFailed, match=r"config\.toml"):
            read_settings()
