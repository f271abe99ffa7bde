"""What `/agent …` asks for: the words behind the command, as values."""

import re
from collections.abc import Callable, Collection
from typing import Final

import msgspec

from robota.contracts.agent import GENERAL_PURPOSE, AgentDefinition, Isolation, StartAgent
from robota.protocol.calls import WaitPolicy
from robota.text.visible import single_line

MAX_DESCRIPTION: Final = 60
OPTION: Final = re.compile(r"\s*(--?[a-z]+)(?:=|\s+|\Z)")
WORD: Final = re.compile(r"\s*(\S+)")
QUOTED: Final = r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'"""
SPEC: Final = re.compile(rf"\s*([\w.-]+)(?:=([\w.:-]+))?:({QUOTED})", re.DOTALL)
SPEC_FORM: Final = 'label:"prompt" or label=agent:"prompt"'
TYPES: Final = frozenset({"--agent", "--type", "-a"})


class WrongLine(Exception):
    """The line is none of the forms of the command. The text says why."""


class ListAll(msgspec.Struct, frozen=True):
    """Show the agents of the session."""


class Run(msgspec.Struct, frozen=True):
    """Start one agent."""

    order: StartAgent


class RunTogether(msgspec.Struct, frozen=True):
    """Start several as a group."""

    orders: tuple[StartAgent, ...]
    policy: WaitPolicy


class Wait(msgspec.Struct, frozen=True):
    """Show how a group or an agent ended, once it has."""

    name: str


class Read(msgspec.Struct, frozen=True):
    """Show the conversation of an agent from a row on."""

    agent: str
    first_row: int | None


class Send(msgspec.Struct, frozen=True):
    """Give an agent another message."""

    agent: str
    text: str


class Stop(msgspec.Struct, frozen=True):
    """Stop an agent."""

    agent: str


class Close(msgspec.Struct, frozen=True):
    """Remove an agent that has ended from the list."""

    agent: str


class Merge(msgspec.Struct, frozen=True):
    """Bring in what an agent changed in its worktree, or only these files of it."""

    agent: str
    paths: tuple[str, ...]


class Open(msgspec.Struct, frozen=True):
    """Show agents in full screen; without an id, all of them."""

    agent: str | None


AgentLine = ListAll | Run | RunTogether | Wait | Read | Send | Stop | Close | Merge | Open


def agent_line(text: str, named: Callable[[str], AgentDefinition | None]) -> AgentLine:
    """What the text behind `/agent` means. `named` finds an agent that can be started. Raises `WrongLine`."""
    first, _, rest = text.strip().partition(" ")
    rest = rest.strip()
    match first:
        case "" | "list" if not rest:
            return ListAll()
        case "parallel":
            return _together(rest)
        case "wait" | "read" | "send" | "stop" | "cancel" | "close" | "merge" | "open":
            return _about_one("stop" if first == "cancel" else first, rest)
        case "run":
            return Run(_order(rest, named))
        case _:
            return Run(_order(text.strip(), named))


def _about_one(verb: str, rest: str) -> AgentLine:
    id, _, more = rest.partition(" ")
    more = more.strip()
    match verb:
        case "open":
            return Open(id or None)
        case "wait" if id:
            return Wait(id)
        case "read" if id and (not more or more.isdecimal()):
            return Read(id, int(more) if more else None)
        case "send" if id and more:
            return Send(id, more)
        case "stop" if id:
            return Stop(id)  # a reason may follow
        case "close" if id:
            return Close(id)
        case "merge" if id:
            return Merge(id, tuple(more.split()))
    raise WrongLine(f"/agent {verb} lacks something.")


def _order(text: str, named: Callable[[str], AgentDefinition | None]) -> StartAgent:
    """An agent and its prompt. The first word is the name of an agent only if there is one of that name."""
    options, prompt = _options(text, {*TYPES, "--model", "--isolation", "--name"}, {"--background"})
    type = next((options[name] for name in TYPES if name in options), None)
    first, _, rest = prompt.partition(" ")
    if type is None and rest.strip() and named(first) is not None:
        type, prompt = first, rest.strip()
    if not prompt:
        raise WrongLine("There is no prompt.")
    return StartAgent(
        description=single_line(prompt, MAX_DESCRIPTION),
        prompt=prompt,
        type=type or GENERAL_PURPOSE,
        model=options.get("--model"),
        name=options.get("--name", ""),
        isolation=_isolation(options.get("--isolation", "none")),
        is_of_user=True,
    )


def _isolation(written: str) -> Isolation:
    if written not in set(Isolation):
        raise WrongLine(f"There is no isolation {single_line(written)}: none or worktree.")
    return Isolation(written)


def _together(text: str) -> RunTogether:
    options, rest = _options(text, {"--isolation"}, {"--wait", "--detach", "--any", "--manual"})
    policies = {
        "--wait": WaitPolicy.WAIT_ALL,
        "--any": WaitPolicy.WAIT_ANY,
        "--manual": WaitPolicy.MANUAL,
        "--detach": WaitPolicy.DETACHED,
    }
    policy = next((policies[name] for name in options if name in policies), WaitPolicy.DETACHED)
    orders = []
    while rest.strip():
        spec = SPEC.match(rest)
        if spec is None:
            raise WrongLine(f"Write each agent as {SPEC_FORM}.")
        label, type, prompt = spec[1], spec[2], re.sub(r"\\(.)", r"\1", spec[3][1:-1], flags=re.DOTALL)
        orders.append(
            StartAgent(
                description=single_line(prompt, MAX_DESCRIPTION),
                prompt=prompt,
                type=type or GENERAL_PURPOSE,
                name=label,
                isolation=_isolation(options.get("--isolation", "none")),
                is_of_user=True,
            )
        )
        rest = rest[spec.end() :]
    names = [order.name for order in orders]
    if not orders or len(set(names)) < len(names):
        raise WrongLine(f"Give each agent a label of its own: {SPEC_FORM}.")
    return RunTogether(tuple(orders), policy)


def _options(text: str, with_value: Collection[str], flags: Collection[str]) -> tuple[dict[str, str], str]:
    """The options at the beginning, and the rest. What is no option of the command begins the rest."""
    options: dict[str, str] = {}
    while (option := OPTION.match(text)) is not None and option[1] in {*with_value, *flags}:
        text = text[option.end() :]
        if option[1] in flags:
            options[option[1]] = ""
            continue
        value = WORD.match(text)
        if value is None:
            raise WrongLine(f"{option[1]} needs a value.")
        options[option[1]], text = value[1], text[value.end() :]
    return options, text.strip()
