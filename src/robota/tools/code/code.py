"""Questions about a symbol: its definition, its uses, its callers, what implements it, what is said about it."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Final, assert_never

import msgspec

from robota.contracts.rest_of_result import named_call
from robota.contracts.tool import (
    SHOWN_CHARACTERS,
    BadArguments,
    Effect,
    HookNames,
    Prepared,
    Tool,
    ToolContext,
    ToolError,
    ToolGroup,
    ToolResult,
    Touches,
    titled,
)
from robota.protocol.views import TextView
from robota.text.counted import counted
from robota.text.visible import printable_name
from robota.tools.presentation import SayTool, description_beside, tool_ask
from robota.workspace.code.question import Question
from robota.workspace.problems import Missing

if TYPE_CHECKING:
    from robota.workspace.code.answer import CodeAnswer, Described, Findings, Places, SeveralSymbols, Unknown
    from robota.workspace.code.reading_code import Definition, Use

MAX_SHOWN: Final = 300
MAX_LINE: Final = 200
MAX_OTHERS: Final = 10
ROOM_FOR_NUMBER: Final = 20
TIMEOUT_S: Final = 120.0
SEVERITIES: Final = {1: "error", 2: "warning", 3: "note", 4: "hint"}


class CodeParams(msgspec.Struct, frozen=True, kw_only=True):
    what: Question
    symbol: Annotated[str, msgspec.Meta(description="`load`, or `Store.load`.")] = ""
    path: str | None = None
    line: Annotated[int, msgspec.Meta(ge=1)] | None = None


async def prepare(params: CodeParams, context: ToolContext) -> Prepared:
    """Describe the question; `run` answers it."""
    if params.what == "diagnostics" and params.path is None:
        raise BadArguments("Nothing was checked: diagnostics needs a file. Give path.")
    if params.what != "diagnostics" and not params.symbol:
        raise BadArguments("Nothing was looked up: this needs a name. Give symbol.")
    subject = params.symbol or params.path or ""
    action = SayTool(tool="askAboutCode", path=params.path and printable_name(params.path), content=subject)
    return Prepared(preview=tool_ask(action), run=lambda: _run(params, context))


def touches(params: CodeParams) -> Touches:
    """What the call touches, for policy."""
    return Touches(paths=(params.path or ".",))


async def _run(params: CodeParams, context: ToolContext) -> ToolResult:
    # Imported with the first question.
    from robota.workspace.code.answer import Described, Findings, Places, SeveralSymbols, Unknown

    path = None if params.path is None else _relative(params.path, context)
    try:
        answer = await _asked(params, path, context)
    except Missing as error:
        from robota.tools.files.near_names import with_near_names

        raise with_near_names(error, params.path or "", context.files) from error
    match answer:
        case Places():
            return _places(params, answer)
        case Described():
            return _result(f"{answer.text.strip()}\n[{_certainty(answer)}]", answer.text.strip().partition("\n")[0])
        case Findings():
            return _findings(answer)
        case SeveralSymbols():
            return _ambiguous(params, answer)
        case Unknown():
            return _unknown(params, answer)
        case _:
            assert_never(answer)


async def _asked(params: CodeParams, path: str | None, context: ToolContext) -> "CodeAnswer":
    if params.what == "diagnostics":
        return await context.code().diagnostics(path or "")
    return await context.code().ask(params.what, params.symbol, path, params.line)


def _relative(path: str, context: ToolContext) -> str:
    if context.files.holding(path) is not context.files:
        call = named_call("read_file", path=path)
        raise ToolError(f"Questions are about code in the workspace. Nothing was looked up. Read the file: {call}")
    return context.files.relative(path)


def _places(params: CodeParams, answer: "Places") -> ToolResult:
    shown: list[Use] = []
    room = SHOWN_CHARACTERS
    for use in answer.places[:MAX_SHOWN]:
        room -= len(use.text[:MAX_LINE]) + len(use.path) + ROOM_FOR_NUMBER
        if room < 0 and shown:
            break
        shown.append(use)
    files = len({use.path for use in answer.places})
    total = f"{counted(len(answer.places), 'place')} in {counted(files, 'file')}" if answer.places else "No places"
    parts = [f"{total}: {params.what} of {params.symbol}", *_by_file(shown)]
    parts += [f"outside the workspace: {printable_name(each)}" for each in answer.elsewhere]
    if len(shown) < len(answer.places):
        name = params.symbol.rpartition(".")[2]
        call = named_call("search_files", regex=rf"\b{name}\b", path=answer.places[len(shown)].path)
        parts.append(f"[Showing {len(shown)} of {len(answer.places)}. For those in the next file: {call}]")
    return _result("\n".join((*parts, *_remarks(answer), f"[{_certainty(answer)}]")), f"{total}.")


def _by_file(uses: Iterable["Use"]) -> Iterable[str]:
    for path, of_file in groupby(uses, key=lambda use: use.path):
        yield f"# {printable_name(path)}"
        for within, lines in groupby(of_file, key=lambda use: use.within):
            if within:
                yield f"in {printable_name(within)}:"
            yield from (f"{use.line} | {printable_name(use.text[:MAX_LINE])}" for use in lines)


def _remarks(answer: "Places") -> list[str]:
    remarks = []
    if answer.others:
        listed = ", ".join(f"{printable_name(use.path)}:{use.line}" for use in answer.others[:MAX_OTHERS])
        more = ", …" if len(answer.others) > MAX_OTHERS else ""
        remarks.append(
            f"[The name stands as code in {counted(len(answer.others), 'other place')}, which the server "
            f"takes for other symbols or does not know: {listed}{more}]"
        )
    if answer.in_texts:
        remarks.append(f"[{counted(answer.in_texts, 'line')} with the name in comments or strings left out.]")
    if answer.is_cut:
        remarks.append("[Too many lines have this name: only a part of them was looked at. Give a path.]")
    return remarks


def _certainty(answer: "Places | Described | Findings") -> str:
    # Imported with the first question.
    from robota.workspace.code.answer import Certainty

    because = f"; {answer.reason}" if answer.reason else ""
    match answer.certainty:
        case Certainty.EXACT:
            return f"Exact: {answer.source}."
        case Certainty.PARTIAL:
            return f"Partial: {answer.source} is still reading the project, so there may be more. Ask again later."
        case Certainty.SYNTACTIC:
            return f"Syntactic: {answer.source}, which does not tell symbols of one name apart{because}."
        case Certainty.TEXTUAL:
            return f"Textual: {answer.source}{because}."
        case _:
            assert_never(answer.certainty)


def _findings(answer: "Findings") -> ToolResult:
    name = printable_name(answer.path)
    if answer.findings is None:
        text = f"Unknown: {answer.source} did not say in time what is wrong with {name}. That does not mean nothing is."
        return _result(text, "Unknown.")
    ordered = sorted(answer.findings, key=lambda each: (each.severity, each.line, each.column))
    lines = [
        f"{name}:{each.line}:{each.column} {SEVERITIES.get(each.severity, 'note')} "
        f"{printable_name(each.message[:MAX_LINE])}{f' [{printable_name(each.code)}]' if each.code else ''}"
        for each in ordered[:MAX_SHOWN]
    ]
    notes = [f"[Showing {MAX_SHOWN} of {len(ordered)}. Correct these first.]"] if len(ordered) > MAX_SHOWN else []
    total = counted(len(ordered), "problem") if ordered else "No problems"
    return _result("\n".join((f"{total} in {name}", *lines, *notes, f"[{_findings_certainty(answer)}]")), f"{total}.")


def _findings_certainty(answer: "Findings") -> str:
    # Imported with the first question.
    from robota.workspace.code.answer import Certainty

    if answer.certainty is Certainty.SYNTACTIC:
        return f"Only the syntax was checked, not names and types: {answer.reason}."
    return _certainty(answer)


def _ambiguous(params: CodeParams, answer: "SeveralSymbols") -> ToolResult:
    first = answer.candidates[0]
    call = named_call("code", what=params.what, symbol=params.symbol, path=first.path, line=first.symbol.line)
    heading = f"{counted(len(answer.candidates), 'definition')} of {params.symbol}. Which one? For example: {call}"
    return _result("\n".join((heading, *_candidates(answer.candidates))), f"{len(answer.candidates)} definitions.")


def _unknown(params: CodeParams, answer: "Unknown") -> ToolResult:
    text = f"Nothing in the workspace is called {params.symbol}."
    if answer.similar:
        text = "\n".join((f"{text} Similar names:", *_candidates(answer.similar[:MAX_OTHERS])))
    else:
        text += f" Search for a part of it: {named_call('search_files', regex=params.symbol.rpartition('.')[2])}"
    return _result(text, "Not found.")


def _candidates(definitions: Sequence["Definition"]) -> list[str]:
    return [
        f"{printable_name(each.path)}:{each.symbol.line} | {each.symbol.kind} {printable_name(each.symbol.name_path)}"
        for each in definitions[:MAX_SHOWN]
    ]


def _result(content: str, shown: str) -> ToolResult:
    return ToolResult(content=content, view=TextView(text=shown))


TOOL = Tool(
    name="code",
    label="Code",
    group=ToolGroup.READ,
    params=CodeParams,
    description=description_beside(__file__),
    effects=frozenset({Effect.READ}),
    touches=touches,
    prepare=prepare,
    aliases=("LSP",),
    hook_names=HookNames(path="path"),
    title=titled("Code", "what", "symbol", "path"),
    timeout_s=TIMEOUT_S,
)
