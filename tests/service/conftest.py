"""What the tests of the service share."""

import pytest

from memex.service.service import Service


@pytest.fixture
def without_journal(service: Service) -> None:
    """Lets the service file every statement in a page, and keep no told text."""
    service.keeps_journal = False
