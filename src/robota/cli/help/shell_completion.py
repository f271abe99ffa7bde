"""Completions for bash, zsh and fish, made from the shape of the command line. They start no process of ours."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from robota.cli.help.command_shapes import CommandShape, OptionShape

HEADER: Final = "made by: robota completion"
BASH_PATHS: Final = {"file": "-f", "directory": "-d"}


def bash(main: CommandShape) -> str:
    """A function for bash; it needs no package of completions."""
    cases = "\n".join(_bash_case(path, command) for path, command in _commands(main))
    return f"""# bash completion for robota, {HEADER} bash
_robota() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}"
    local path="" word
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$path $word" in
{_bash_paths(main)}
        esac
    done
    local options="" words="" paths="" IFS=$'\\n'
    case "$path" in
{cases}
    esac
    case "$previous" in
{_bash_values(main)}
    esac
    if [[ $current == -* ]]; then
        COMPREPLY=($(compgen -W "${{options// /$'\\n'}}" -- "$current"))
    else
        COMPREPLY=($(compgen -W "${{words// /$'\\n'}}" -- "$current"; [[ $paths ]] && compgen "$paths" -- "$current"))
    fi
}}
complete -o filenames -o bashdefault -F _robota robota
"""


def _bash_paths(main: CommandShape) -> str:
    """How the words typed so far lead from one command to the next."""
    paths = [path for path, _ in _commands(main) if path]
    return "\n".join(
        f"            '{before} {name}') path='{path}' ;;" for path in paths for before, name in [_split(path)]
    )


def _split(path: str) -> tuple[str, str]:
    before, _, name = path.rpartition(" ")
    return before, name


def _bash_case(path: str, command: CommandShape) -> str:
    options = " ".join(_flags(command.options))
    words = " ".join((*(action.name for action in command.actions), *command.words))
    paths = BASH_PATHS.get(command.path_kind, "" if path else "-f")
    return f"        '{path}') options='{options}' words='{words}' paths='{paths}' ;;"


def _bash_values(main: CommandShape) -> str:
    """What may follow an option; the same option means the same in every command."""
    lines = []
    for option in _distinct_options(main):
        if option.choices:
            words = "\\n".join(option.choices)
            reply = f"COMPREPLY=($(compgen -W $'{words}' -- \"$current\"))"
        elif option.path_kind:
            reply = f'COMPREPLY=($(compgen {BASH_PATHS[option.path_kind]} -- "$current"))'
        elif option.value and not option.is_value_optional:
            reply = "COMPREPLY=()"
        else:
            continue
        lines.append(f"        {'|'.join(option.flags)}) {reply}; return ;;")
    return "\n".join(lines)


def zsh(main: CommandShape) -> str:
    """A function for zsh, to be evaluated or to be kept as `_robota` in a directory of `fpath`."""
    functions = "\n".join(_zsh_function(path, command) for path, command in _commands(main))
    return f"""#compdef robota
# zsh completion for robota, {HEADER} zsh
{functions}
if [[ $funcstack[1] == _robota ]]; then
    _robota "$@"
else
    compdef _robota robota
fi
"""


def _zsh_function(path: str, command: CommandShape) -> str:
    name = _function_name(path)
    specs = [spec for option in command.options for spec in _zsh_option(option)]
    if command.actions:
        commands = " ".join(_quoted(f"{_zsh_escaped(action.name)}:{action.help}") for action in command.actions)
        calls = "\n".join(
            f"            {action.name}) {_function_name(f'{path} {action.name}'.strip())} ;;"
            for action in command.actions
        )
        specs += ["'1: :->command'", "'*:: :->rest'"]
        state = f"""
    case $state in
        command) local -a commands=({commands}); _describe command commands{"" if path else "; _files"} ;;
        rest)
            case $words[1] in
{calls}
            esac ;;
    esac"""
    else:
        specs.append(_quoted(f"*: :{_zsh_words(command)}"))
        state = ""
    joined = " \\\n        ".join(specs)
    return f"""{name}() {{
    local curcontext="$curcontext" state line
    _arguments -C \\
        {joined}{state}
}}
"""


def _zsh_words(command: CommandShape) -> str:
    if command.words:
        return f"({' '.join(command.words)})"
    return {"file": "_files", "directory": "_files -/"}.get(command.path_kind, "")


def _zsh_option(option: OptionShape) -> Iterator[str]:
    description = option.help.replace("[", "(").replace("]", ")").replace(":", "")
    value = ""
    if option.value:
        kind = {"file": "_files", "directory": "_files -/"}.get(option.path_kind, "")
        meaning = f"({' '.join(option.choices)})" if option.choices else kind
        value = f"{'::' if option.is_value_optional else ':'}{option.value.replace(':', '')}:{meaning}"
    for flag in option.flags:
        yield _quoted(f"{flag}[{description}]{value}")


def _zsh_escaped(text: str) -> str:
    return text.replace(":", "\\:")


def fish(main: CommandShape) -> str:
    """Lines of `complete` for fish."""
    lines = [f"# fish completion for robota, {HEADER} fish"]
    for path, command in _commands(main):
        lines += _fish_lines(path.split(), command, main)
    return "\n".join(lines) + "\n"


def _fish_lines(path: list[str], command: CommandShape, main: CommandShape) -> Iterator[str]:
    below = [action.name for action in command.actions]
    here = " ; and ".join(f"__fish_seen_subcommand_from {name}" for name in path)
    among = f"not __fish_seen_subcommand_from {' '.join(below)}" if below else ""
    condition = _quoted(" ; and ".join(part for part in (here, among) if part)) if here or among else ""
    start = f"complete -c robota{' -n ' + condition if condition else ''}"
    for action in command.actions:
        yield f"{start} {'' if not path else '-f '}-a {_quoted(action.name)} -d {_quoted(action.help)}"
    if command.words:
        yield f"{start} -f -a {_quoted(' '.join(command.words))}"
    for option in command.options:
        yield f"{start} {_fish_option(option)}"


def _fish_option(option: OptionShape) -> str:
    flags = [f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags]
    value = ""
    if option.choices:
        value = f" -x -a {_quoted(' '.join(option.choices))}"
    elif option.path_kind == "directory":
        value = " -x -a '(__fish_complete_directories)'"
    elif option.path_kind:
        value = " -r -F"
    elif option.value and not option.is_value_optional:
        value = " -x"
    return f"{' '.join(flags)}{value} -d {_quoted(option.help)}"


def _commands(main: CommandShape) -> Iterator[tuple[str, CommandShape]]:
    """Every command and action with the words that lead to it."""
    yield "", main
    for command in main.actions:
        yield from _below(command.name, command)


def _below(path: str, command: CommandShape) -> Iterator[tuple[str, CommandShape]]:
    yield path, command
    for action in command.actions:
        yield from _below(f"{path} {action.name}", action)


def _distinct_options(main: CommandShape) -> list[OptionShape]:
    """Each way of writing an option once; where commands differ, the main command's meaning comes first."""
    by_flags: dict[tuple[str, ...], OptionShape] = {}
    for _, command in _commands(main):
        for option in command.options:
            by_flags.setdefault(option.flags, option)
    return list(by_flags.values())


def _flags(options: Iterable[OptionShape]) -> list[str]:
    return [flag for option in options for flag in option.flags]


def _function_name(path: str) -> str:
    return "_robota" + "".join(f"_{word.replace('-', '_')}" for word in path.split())


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "'\\''") + "'"


SHELLS: Final[dict[str, Callable[[CommandShape], str]]] = {"bash": bash, "zsh": zsh, "fish": fish}
