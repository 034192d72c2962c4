"""The page Health: whether the service works, for administrators."""

from tests.ui.conftest import Site


def test_health_says_what_works(site: Site) -> None:
    """With nothing queued and no model, each part says so; htmx gets the parts without the frame."""
    admin = site.visitor("admin")

    whole = admin.get("/ui/health")
    part = admin.get("/ui/health", headers={"HX-Request": "true"})

    for shown in (whole, part):
        assert "The database answers, and takes writes." in shown.text
        assert "No text waits to be stored." in shown.text
        assert "No model was asked in the last 14 days." in shown.text
    assert 'hx-trigger="every 30s"' in whole.text
    assert "<html" not in part.text
    assert 'href="/ui/health"' not in site.visitor(bound_to="alice").get("/ui/memory").text
