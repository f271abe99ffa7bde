"""Rules such as `Read`, `Bash(git diff *)` or `Edit(src/**)`: their syntax, and which calls they match."""

import fnmatch
import re
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from robota.contracts.tool import Effect, Touches
from robota.contracts.verdict import Subject
from robota.policy.protected.path_resolver import PathResolver, problem_with_pattern

RULE: Final = r"(?s)([A-Za-z_*][\w.:*-]*)(?:\((.*)\))?(?:#([0-9a-f]+))?"
DOMAIN: Final = "domain:"
MCP: Final = "mcp__"

# For these tools the parentheses contain the words of a command; for all others a path or a host.
# A rule that names one of these is about the commands of every tool.
COMMAND_TOOLS: Final = frozenset({"execute_command", "Bash"})
TAKES_COMMANDS: Final = COMMAND_TOOLS | {"background_process", "BackgroundProcess"}
# For these the parentheses contain the name of a skill, perhaps with ` *` for its arguments, or of an agent.
SKILL_TOOLS: Final = frozenset({"skill", "Skill", "agent", "Agent"})
# These two names match every tool that writes files, or every tool that only reads them.
EDIT: Final = "Edit"
READ: Final = "Read"
WRITING: Final = frozenset({Effect.WRITE, Effect.READ})


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """A rule: its source `text`, the tool, and `spec`, which restricts the calls (None: all calls).

    With `pin`, the digest of what decides the meaning of a command, it holds only while that is the same, and only for
    these words: `Bash(make test)#3f1c…`.
    """

    text: str
    tool: str
    spec: str | None = None
    pin: str | None = None

    @property
    def is_about_commands(self) -> bool:
        """Whether this is a rule for shell commands."""
        return self.tool in COMMAND_TOOLS

    def is_about_commands_of(self, tool: str, label: str) -> bool:
        """Whether this is a rule for commands of the tool with this id and label."""
        return self.is_about_commands or self.tool in {tool, label}

    @property
    def paths(self) -> str | None:
        """The path pattern, if the rule has one."""
        return self.spec if self.tool in {EDIT, READ} else None

    def speaks_of_all(self, tool: str) -> bool:
        """Whether the rule matches every call of that tool."""
        return self.tool == tool and self.spec is None


class InvalidRule(msgspec.Struct, frozen=True, kw_only=True):
    """Text that is not a valid rule, and why."""

    text: str
    problem: str

    @property
    def message(self) -> str:
        return f"The rule {self.text!r} is not valid: {self.problem}."


def parse_rule(text: str, names: Mapping[str, str] | None = None) -> Rule | InvalidRule:
    """Parse one rule. `names` maps every name of a tool to its id; without it, names are not checked."""
    match = re.fullmatch(RULE, text.strip())
    if match is None:
        return InvalidRule(text=text, problem="it must be 'Tool' or 'Tool(pattern)'")
    name, spec = match[1], match[2]
    if not _is_known(name, names):
        return InvalidRule(text=text, problem=f"there is no tool called {name!r}")
    if spec is not None and not spec.strip():
        return InvalidRule(text=text, problem="the parentheses are empty; omit them to match every call")
    spec = spec.strip() if spec else None
    tool = name if names is None or name in {EDIT, READ} else names.get(name, name)
    rule = Rule(text=text.strip(), tool=tool, spec=None if spec == "*" else spec, pin=match[3])
    problem = _problem_with_spec(rule)
    return rule if problem is None else InvalidRule(text=text, problem=problem)


def parse_rules(
    texts: Iterable[str], names: Mapping[str, str] | None = None
) -> tuple[tuple[Rule, ...], tuple[InvalidRule, ...]]:
    """Parse several rules; returns the valid and the invalid ones, each in order."""
    parsed = [parse_rule(text, names) for text in texts]
    valid = tuple(rule for rule in parsed if isinstance(rule, Rule))
    return valid, tuple(rule for rule in parsed if isinstance(rule, InvalidRule))


def split_rules(text: str) -> tuple[str, ...]:
    """Rules in one string, separated by commas or spaces; inside parentheses both belong to the rule."""
    rules, depth = [""], 0
    for character in text:
        depth = max(0, depth + (character == "(") - (character == ")"))
        if depth == 0 and (character == "," or character.isspace()):
            rules.append("")
        else:
            rules[-1] += character
    return tuple(rule for rule in rules if rule)


def surely_matches(rule: Rule, subject: Subject, resolver: PathResolver) -> bool:
    """For allow rules: whether the rule covers everything the call touches. Not for shell commands."""
    if not _names(rule, subject, broadly=False):
        return False
    if rule.spec is None:
        return True
    if rule.tool in SKILL_TOOLS:
        return _is_skill(rule.spec, subject, broadly=False)
    if rule.spec.startswith(DOMAIN):
        return _host_matches(rule.spec, subject.touches.host, broadly=False)
    paths = subject.touches.paths
    return bool(paths) and all(_path_matches(rule.spec, path, resolver, broadly=False) for path in paths)


def possibly_matches(rule: Rule, subject: Subject, resolver: PathResolver) -> bool:
    """For deny and ask rules: whether the rule could cover anything the call touches. Not for shell commands."""
    if not _names(rule, subject, broadly=True):
        return False
    if rule.spec is None:
        return True
    if rule.tool in SKILL_TOOLS:
        return _is_skill(rule.spec, subject, broadly=True)
    if rule.spec.startswith(DOMAIN):
        return _host_matches(rule.spec, subject.touches.host, broadly=True)
    paths = subject.touches.paths
    return not paths or any(_could_reach(rule.spec, path, resolver) for path in paths)


def _is_known(name: str, names: Mapping[str, str] | None) -> bool:
    return names is None or name in names or name in {EDIT, READ, "*", *SKILL_TOOLS} or name.startswith(MCP)


def _problem_with_spec(rule: Rule) -> str | None:
    if rule.pin is not None:
        # Imported with the first such rule.
        from robota.policy.rules.pinned import problem_with_pin

        if not rule.is_about_commands:
            return "only a rule for a command can have a digest"
        return problem_with_pin(rule.spec, rule.pin)
    if "*" in rule.tool and rule.spec is not None:
        return "a rule for many tools cannot have a pattern"
    if rule.spec is None:
        return None
    if rule.tool in SKILL_TOOLS:
        return None if len(_skill_name(rule.spec).split()) == 1 else "it must be the name of a skill or an agent"
    if rule.spec.startswith(DOMAIN):
        return None if rule.spec.removeprefix(DOMAIN).strip(".*") else "the domain is empty"
    if rule.tool not in TAKES_COMMANDS:
        return problem_with_pattern(rule.spec)
    # Imported only if there are rules about commands.
    from robota.policy.rules.command_match import problem_with_words

    return problem_with_words(rule.spec)


def names_tool(rule: Rule, tool: str, label: str, effects: frozenset[Effect]) -> bool:
    """Whether the rule could match some call of the tool."""
    if rule.is_about_commands:
        return Effect.EXECUTE in effects and bool(TAKES_COMMANDS & {tool, label})
    anything = Subject(tool=tool, label=label, effects=effects, touches=Touches(), mode="")
    return _names(rule, anything, broadly=True)


def _names(rule: Rule, subject: Subject, *, broadly: bool) -> bool:
    if rule.tool in {subject.tool, subject.label}:
        return True
    if rule.tool == EDIT:
        return Effect.WRITE in subject.effects and subject.effects <= WRITING
    if rule.tool == READ:
        # A deny rule for reading also covers edits, because an edit shows the old content.
        reads = subject.effects == {Effect.READ}
        return reads or (broadly and rule.spec is not None and bool(subject.effects) and subject.effects <= WRITING)
    return _names_of_many(rule.tool, subject.tool, broadly=broadly)


def _names_of_many(pattern: str, tool: str, *, broadly: bool) -> bool:
    """`mcp__server`, `mcp__server__*`, `mcp__server__tool`; to deny also `mcp__*` and `*`."""
    name = tool.replace("--", "__") if tool.startswith("mcp--") else tool
    if "*" not in pattern:
        # The name of a server has no double underscore, that of a tool may.
        is_server = pattern.startswith(MCP) and "__" not in pattern.removeprefix(MCP)
        return name == pattern or (is_server and name.startswith(pattern + "__"))
    server, _, rest = pattern.removeprefix(MCP).partition("__")
    if not broadly and not (pattern.startswith(MCP) and "*" not in server and rest):
        return False
    return fnmatch.fnmatchcase(name, pattern)


def _skill_name(spec: str) -> str:
    """The name of the skill in a rule, without ` *` or `:*` for its arguments."""
    return spec.removesuffix(" *").removesuffix(":*").strip()


def _is_skill(spec: str, subject: Subject, *, broadly: bool) -> bool:
    """Whether the rule names the skill or agent of the call; `broadly` also by its name without that of its plugin."""
    name, pattern = subject.touches.skill, _skill_name(spec)
    if name is None:
        return broadly
    if not broadly:
        return fnmatch.fnmatchcase(name, pattern)
    if (":" in name) != (":" in pattern):
        name, pattern = name.rpartition(":")[2], pattern.rpartition(":")[2]
    return fnmatch.fnmatchcase(name.casefold(), pattern.casefold())


def _host_matches(spec: str, host: str | None, *, broadly: bool) -> bool:
    # Imported here because few calls use the network.
    from robota.policy.rules.hosts import host_matches

    return broadly if host is None else host_matches(host, spec.removeprefix(DOMAIN))


def _could_reach(pattern: str, path: str, resolver: PathResolver) -> bool:
    """Also true for a directory if the pattern matches every file in it."""
    return _path_matches(pattern, path, resolver, broadly=True) or resolver.holds_matches(
        path, pattern, at_any_depth=False
    )


def _path_matches(pattern: str, path: str, resolver: PathResolver, *, broadly: bool) -> bool:
    """`broadly` is the result for a pattern that is invalid."""
    if problem_with_pattern(pattern) is not None:
        return broadly
    return resolver.matches(path, pattern, broadly=broadly)
