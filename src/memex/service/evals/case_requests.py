"""Requests about cases: what a case of a call would contain, the case as a zip, and keeping it."""

import asyncio
import os
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

from memex.errors import FileExists, Forbidden, ValidationFailed
from memex.service.call import Caller, check_role
from memex.service.evals.call_cases import CallCase, CaseChoice, CasePassageResult, case_of
from memex.service.evals.redaction import Redactor
from memex.service.log.replay.bundle import export_call
from memex.service.service import Service
from memex.service.tools.tool import ResultPart
from memex.store.identity.tenants import DEFAULT_TENANT, find_tenant
from memex.store.log import retention

KEEP = "eval_case_keep"


class CaseDraftResult(ResultPart):
    """The content that a case of a call would have.

    `text` is its YAML, `files` the number of files of its state, `left_out` what of the answer cannot be expected,
    `replaced` how often what kind of value was replaced. `can_keep` says whether the caller may keep it in the
    folder of the service.
    """

    tool: str
    asked: str
    passages: list[CasePassageResult]
    text: str
    files: int
    left_out: list[str]
    replaced: dict[str, int]
    can_keep: bool


class KeptCaseResult(ResultPart):
    """A case that was kept, and the command that runs it."""

    case: str
    files: int
    command: str


async def draft_case(
    service: Service, caller: Caller, tool_call_id: str, choice: CaseChoice
) -> CaseDraftResult:
    """Return what a case of one of the caller's calls would contain. The export that it reads is logged.

    Raises:
        OperationNotFound: the caller made no such call.
        ValidationFailed: no case can be made of it, or the choice cannot be.
    """
    redactor = Redactor(is_on=choice.redact)
    case = await make_case(service, caller, tool_call_id, choice, redactor)
    return CaseDraftResult.taken_from(
        case,
        passages=list(case.passages),
        files=len(case.state.files),
        left_out=list(case.left_out),
        replaced=dict(redactor.replaced),
        can_keep=await _may_keep(service, caller),
    )


async def make_case(
    service: Service,
    caller: Caller,
    tool_call_id: str,
    choice: CaseChoice,
    redactor: Redactor | None = None,
) -> CallCase:
    """Return a case of one of the caller's calls; raises as `draft_case`.

    The `redactor` replaces values, and remembers them; by default it is a new one, if the choice wants one.
    """
    bundle = await export_call(service, caller, tool_call_id)
    return await asyncio.to_thread(case_of, bundle, choice, redactor or Redactor(is_on=choice.redact))


async def pack_case(service: Service, caller: Caller, tool_call_id: str, choice: CaseChoice) -> bytes:
    """Return a case of one of the caller's calls as a zip; raises as `draft_case`."""
    case = await make_case(service, caller, tool_call_id, choice)
    return await asyncio.to_thread(case.pack)


async def keep_case(
    service: Service, caller: Caller, tool_call_id: str, choice: CaseChoice
) -> KeptCaseResult:
    """Write a case into the folder of the service, and keep the call in the log whatever its age.

    Raises:
        Forbidden: the caller is no admin of the tenant `default`, to which the folder belongs.
        FileExists: there is such a case.
        OperationNotFound, ValidationFailed: as `draft_case`; or the service has no folder, or cannot write to it.
    """
    given = {"call": tool_call_id, **choice.model_dump(exclude_defaults=True)}
    async with service.recorder.recorded(caller, KEEP, given) as log:
        check_role(caller.principal, "admin")
        if service.case_folder is None:
            raise ValidationFailed(
                "This service keeps no cases.", hint="Set MEMEX_EVAL_CASES to a folder, or download the case."
            )
        if not await _may_keep(service, caller):
            raise Forbidden("The folder of cases belongs to the tenant `default`.", hint="Download the case.")
        case = await make_case(service, caller, tool_call_id, choice)
        path = await asyncio.to_thread(write_case, service.case_folder, case.name, case.files)
        async with service.database.maintenance() as connection:
            await retention.keep(connection, caller.access, tool_call_id)
            await log.add("committed", connection=connection)
    return KeptCaseResult(
        case=str(path.absolute()),
        files=len(case.state.files),
        command=shlex.join(["memex", "eval", "run", str(path.absolute())]),
    )


def write_case(folder: Path, name: str, files: Mapping[str, str]) -> Path:
    """Write the files of a case into a folder, and return the path of the case. Nothing is replaced.

    Raises:
        FileExists: there is a case of this name, or a link of it.
        ValidationFailed: the folder cannot be written.
    """
    case, state = folder / f"{name}.yaml", folder / name
    for place in (case, state):
        if os.path.lexists(place):
            raise FileExists(f"There is {place} already.", hint="Give the case another name.", reason="case")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        state.mkdir()
    except OSError as error:
        raise _unwritable(case, error) from None
    try:
        for path, text in files.items():
            if path != case.name:
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(text.encode())
        with case.open("xb") as written:  # last, so that a case stands there with its state
            written.write(files[case.name].encode())
    except OSError as error:
        shutil.rmtree(state, ignore_errors=True)
        raise _unwritable(case, error) from None
    return case


def _unwritable(case: Path, error: OSError) -> ValidationFailed:
    return ValidationFailed(
        f"Cannot write {case}: {error.strerror}.", hint="Name a folder that may be written to."
    )


async def _may_keep(service: Service, caller: Caller) -> bool:
    if service.case_folder is None or caller.principal.role != "admin":
        return False
    return caller.access.tenant_id == await find_tenant(service.database, DEFAULT_TENANT)
