"""Reports: a run of cases as tables, as an HTML page, and as JUnit XML."""
