"""Cases made of calls, for administrators. Nothing is run here."""

from memex.http.routers import admin_router, operation
from memex.service.evals.call_cases import CaseChoice
from memex.service.evals.case_requests import KeptCaseResult

router = admin_router("/evals")


@operation(router, "eval_case_keep", status_code=201, summary="Keep a case of a call")
def keep_case(tool_call_id: str, body: CaseChoice) -> KeptCaseResult:
    """Write a test case of a call into the folder MEMEX_EVAL_CASES of the service, and keep the call in the log.

    The folder belongs to the tenant `default`. Nothing in it is replaced.
    """
