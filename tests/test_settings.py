"""Settings: what of the environment counts."""

import pytest

from memex.settings import read_settings


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
