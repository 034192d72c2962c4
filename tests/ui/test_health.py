"""The page Health: whether the service works, for administrators."""

from datetime import UTC, datetime, timedelta

from tests.ui.conftest import Site

from memex.store.log.hours import sum_hours


def test_health_says_what_works(site: Site) -> None:
    """With nothing queued and no model, each part says so; htmx gets the parts without the frame."""
    admin = site.visitor("admin")

    whole = admin.get("/ui/health")
    part = admin.get("/ui/health", headers={"HX-Request": "true"})

    for shown in (whole, part):
        assert "The database answers, and takes writes." in shown.text
        assert "<h2>Checks</h2>" in shown.text
        assert "Tables of" in shown.text
        assert "No text waits to be stored." in shown.text
        assert "No model was asked in the last 14 days." in shown.text
    assert 'hx-trigger="every 30s"' in whole.text
    assert "<html" not in part.text
    assert 'href="/ui/health"' not in site.visitor(bound_to="alice").get("/ui/memory").text


def test_the_calls_of_the_day_are_a_table_without_javascript(site: Site) -> None:
    """Calls, failures and times by tool and by hour; a problem stands above all, with what to do."""
    alice, admin = site.api(bound_to="alice"), site.visitor("admin")
    for _ in range(25):
        assert alice.get("/v1/file", params={"path": "user/none.md"}).status_code == 404
    assert site.served.service is not None
    database = site.served.service.database
    site.served.run(sum_hours(database, datetime.now(UTC) - timedelta(hours=1)))

    shown = admin.get("/ui/health").text
    told = site.api("admin").get("/v1/admin/health").json()

    assert "1 thing is wrong" in shown
    assert "<code>memex log --status failed --everyone --as-admin</code>" in shown
    assert '<td class="amount">25</td><td class="amount">25</td>' in shown
    assert not told["ok"]
    assert ("memory_read", 25) in [(tool["tool"], tool["failed"]) for tool in told["calls"]["tools"]]
