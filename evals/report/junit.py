"""A run of cases as JUnit XML, which CI systems show."""

import re
from xml.etree import ElementTree as ET

from memex.service.evals.runs import CaseRun, Run

_ILLEGAL = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what XML 1.0 cannot hold


def render(run: Run) -> str:
    """Return the XML of a run: known failures are skipped tests, with what is wrong."""
    skipped, failed = run.of_status("known", "skipped"), run.of_status("failed")
    suite = ET.Element(
        "testsuite",
        {
            "name": run.suite,
            "tests": str(len(run.cases)),
            "failures": str(len(failed)),
            "errors": "0",
            "skipped": str(len(skipped)),
            "time": f"{run.duration_s:.3f}",
            "timestamp": run.started_at.isoformat(timespec="seconds"),
        },
    )
    for case in run.cases:
        _add_test_case(suite, case)
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _add_test_case(suite: ET.Element, case: CaseRun) -> None:
    seconds = case.measures.get("latency-ms", 0.0) / 1000
    group, _, name = case.id.partition("/")
    element = ET.SubElement(suite, "testcase", {"classname": group, "name": name, "time": f"{seconds:.3f}"})
    message = _legal_text(" ".join(case.problems))
    if case.status == "failed":
        failure = ET.SubElement(element, "failure", {"message": message})
        failure.text = _legal_text("\n".join((f"asked: {case.asked}", *case.problems)))
    elif case.status == "known":
        ET.SubElement(element, "skipped", {"message": f"Known failure: {message}"})
    elif case.status == "skipped":
        ET.SubElement(element, "skipped", {"message": f"Not applicable: {', '.join(case.unknown)}"})


def _legal_text(text: str) -> str:
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)
