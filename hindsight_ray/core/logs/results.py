"""Did a tool's answer in a log say that the call failed? Read from the forms that tools use."""

import json
import re
from dataclasses import dataclass

from hindsight_ray.core.digest import digest
from hindsight_ray.core.steps import RESULT_SIGN, one_line, shortened
from hindsight_ray.core.values import Fields, as_object
from hindsight_ray.domain.event import ToolCall
from hindsight_ray.domain.text import SUMMARY_CHARACTERS_MAX, cut_text

_FAILED_STATUS = ("error", "failed", "failure")
_CODE_MAX = 2**31
_CODE_DIGITS_MAX = 9
_CALL_CHARACTERS = 640  # of a summary; the result gets the rest
_PREFIXED = re.compile(
    r"\s*(?:\[?(?P<name>[A-Za-z_.]*(?:Error|Exception)|error|ERROR|Failed|FAILED|fatal)\]?)"
    r"(?: (?:code|executing tool|calling tool))? ?:\s*(?P<text>.*)",
    re.DOTALL,
)
_TRACEBACK = re.compile(r"\s*Traceback \(most recent call last\)")
_LAST_LINE = re.compile(
    r"(?P<name>[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Warning))\b:?\s*(?P<text>.*)"
)
_EXIT = re.compile(r"\s*exit ?code: (?P<code>-?\d+)(?: \((?P<word>[^)]*)\))?\s*", re.IGNORECASE)
_UNIX_EXIT = re.compile(r"[Tt]he script ran.{0,80}?exit code(?: was)?: (?P<code>-?\d+)", re.DOTALL)
_NO_CODE = re.compile(r"There is no code from the last \d+ messages? for me to execute")


def tool_call(name: str, arguments: object, result: str) -> ToolCall:
    """What is kept of a call: digests of arguments and result, and the error if there was one.

    `arguments` are None where the log does not show them, which proves nothing to be the same.
    """
    failure = failure_of(result)
    return ToolCall(
        name=shortened(_fit(name), 200) or "unnamed",
        arguments_digest="" if arguments is None else digest(arguments),
        status="ok" if failure is None else "error",
        status_code=failure.code if failure else exit_code(result),
        error_type=_fit(failure.name) if failure else "",
        error_text=_fit(one_line(failure.text)) if failure else "",
        result_digest=digest(result) if result.strip() else "",
    )


@dataclass(frozen=True, slots=True)
class Failure:
    """The kind of an error, what it said, and its code if it had one."""

    name: str
    text: str
    code: int | None = None


def failure_of(result: str) -> Failure | None:
    """The failure that a tool's answer reports, or None if it reports none."""
    exited = _EXIT.match(result)
    if exited is not None or _UNIX_EXIT.match(result):
        code = exit_code(result)
        if not code:
            return None
        rest = result[exited.end() :] if exited is not None else result
        return _of_output(rest.removeprefix("Code output:").strip(), code)
    if _NO_CODE.match(result):
        return Failure("NoCode", result)
    if _TRACEBACK.match(result):
        return _of_output(result, None)
    as_json = _json_failure(result)
    if as_json is not None:
        return as_json
    prefixed = _PREFIXED.match(result)
    if prefixed is not None:
        return Failure(prefixed["name"], prefixed["text"] or result)
    return None


def exit_code(result: str) -> int | None:
    """The exit code that an answer begins with, if it does."""
    found = _EXIT.match(result) or _UNIX_EXIT.match(result)
    if found is None or len(found["code"]) > _CODE_DIGITS_MAX:
        return None
    return int(found["code"])


def call_and_result(call: str, result: str) -> str:
    """A tool event's summary: the call, a sign, the result; uncut if both fit."""
    head = shortened(call, _CALL_CHARACTERS)
    return f"{head}{RESULT_SIGN}{one_line(result[: 2 * SUMMARY_CHARACTERS_MAX])}"


def call_words(name: str, arguments: object) -> str:
    """A call as text: `name {"key":value}` for an object, `name text` for anything else."""
    if arguments is None:
        return name
    if isinstance(arguments, str):
        return f"{name} {one_line(arguments)}"
    return f"{name} {_json(arguments)}"


def _of_output(output: str, code: int | None) -> Failure:
    """The last line of an output that names an error, else its last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for line in reversed(lines):
        named = _LAST_LINE.match(line)
        if named is not None:
            return Failure(named["name"], line, code)
    said = lines[-1] if lines else f"exit code {code}"
    return Failure("ExitCode" if code else "Error", said, code)


def _json_failure(result: str) -> Failure | None:
    text = result.strip()
    if not text.startswith("{"):
        return None
    try:
        answer = as_object(json.loads(text))
    except (ValueError, RecursionError):
        return None
    if answer is None:
        return None
    error = answer.get("error")
    if error:
        return _named(error, answer)
    refused = answer.get("isError") is True or answer.get("status") in _FAILED_STATUS
    if refused or answer.get("success") is False or answer.get("ok") is False:
        return _named(answer.get("message") or answer.get("content") or text, answer)
    return None


def _named(error: object, answer: Fields) -> Failure:
    own = as_object(error)
    fields = own if own is not None else answer
    name = fields.get("type") or fields.get("code") or fields.get("error_type") or "error"
    said = own.get("message") if own is not None else error
    if said is None or said is True:
        said = answer.get("message") or _json(answer)
    code = fields.get("code") or fields.get("status_code")
    number = code if isinstance(code, int) and not isinstance(code, bool) else None
    if number is not None and abs(number) >= _CODE_MAX:
        number = None
    return Failure(str(name), said if isinstance(said, str) else _json(said), number)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def _fit(text: str) -> str:
    return cut_text(text, SUMMARY_CHARACTERS_MAX)[0]
