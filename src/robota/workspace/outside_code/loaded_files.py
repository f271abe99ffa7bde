"""Read which files a script loads in turn: shell, Python and JavaScript, as far as their text says it."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

MAX_BYTES: Final = 1024 * 1024
PYTHON_SUFFIXES: Final = frozenset({".py", ".pyw", ".pyi"})
TYPESCRIPT_SUFFIXES: Final = frozenset({".ts", ".mts", ".cts", ".tsx"})
JAVASCRIPT_SUFFIXES: Final = frozenset({".js", ".mjs", ".cjs", ".jsx"}) | TYPESCRIPT_SUFFIXES
PACKAGE_FILE: Final = "package.json"
SHEBANG: Final = re.compile(rb"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+)*)?(?:\S*/)?([A-Za-z]+)")
IMPORTED: Final = re.compile(
    r"""(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\(|\brequire\.resolve\s*\()\s*(["'`])([^"'`\n]+)\1"""
)
JAVASCRIPT_STRING: Final = re.compile(r"""(["'`])((?:(?!\1)[^\\\n]){1,300})\1""")
# Loaded by a name that is put together at run time.
COMPUTED_IMPORT: Final = re.compile(r"""\b(?:import|require)\s*\(\s*(?!\)|(["'`])[^"'`$\n]*\1\s*[,)])""")
SEARCHES_ELSEWHERE: Final = "it decides while it runs where it loads code from"
# How scripts in other languages load files next to them.
_RUBY: Final = re.compile(r"\brequire_relative\b|\bload\b|\$LOAD_PATH|\$:|\brequire\s*\(?\s*[\"'][./~]|\bautoload\b")
_PERL: Final = re.compile(r"\buse\s+lib\b|\b(?:require|do)\s+[\"'$]|@INC\b")
_PHP: Final = re.compile(r"\b(?:require|include)(?:_once)?\b")
_LUA: Final = re.compile(r"\b(?:require|dofile|loadfile)\b")
_SOURCE: Final = re.compile(r"\b(?:source|sys\.source|load|include|require|import)\b")
OTHER_LANGUAGES: Final = {
    **dict.fromkeys((".rb", ".ruby", ".gemspec"), _RUBY),
    **dict.fromkeys((".pl", ".pm", ".perl"), _PERL),
    **dict.fromkeys((".php",), _PHP),
    **dict.fromkeys((".lua", ".luajit"), _LUA),
    **dict.fromkeys((".r", ".rscript", ".tcl", ".tclsh", ".jl", ".julia", ".groovy", ".exs", ".elixir"), _SOURCE),
}
NODE_BUILT_IN: Final = frozenset(
    "assert async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns domain "
    "events fs http http2 https inspector module net os path perf_hooks process punycode querystring readline repl "
    "stream string_decoder sys test timers tls trace_events tty url util v8 vm wasi worker_threads zlib".split()
)


class ShellText(msgspec.Struct, frozen=True):
    """Text whose words may name files: a shell script, a makefile, the scripts of a package.

    `unknown` says why it may load more than that, in a language that is only read word by word.
    """

    text: str
    unknown: str = ""


class PythonModules(msgspec.Struct, frozen=True):
    """The modules that a Python file imports, absolute by name and relative with their dots.

    `texts` are its strings, which may name files; `unknown` says why it loads more.
    """

    names: frozenset[str]
    texts: tuple[str, ...] = ()
    unknown: str = ""


class JavaScriptModules(msgspec.Struct, frozen=True):
    """The relative files and the packages that a JavaScript file imports; for the others see above."""

    files: frozenset[str]
    packages: frozenset[str]
    texts: tuple[str, ...] = ()
    unknown: str = ""


class NothingLoaded(msgspec.Struct, frozen=True):
    """A file that loads nothing that can be read from it."""


Loaded = ShellText | PythonModules | JavaScriptModules | NothingLoaded


def loaded_by(file: Path, data: bytes) -> Loaded:
    """What a file loads when it is run."""
    if len(data) > MAX_BYTES or b"\0" in data[:1024]:
        return NothingLoaded()
    kind = file.suffix.lower()
    shebang = SHEBANG.match(data)
    interpreter = shebang[1].decode().lower() if shebang else ""
    text = data.decode("utf-8", "replace")
    if file.name == PACKAGE_FILE:
        return ShellText(_package_scripts(text))
    if kind in PYTHON_SUFFIXES or interpreter.startswith(("python", "pypy")):
        return _python(text)
    if kind in JAVASCRIPT_SUFFIXES or interpreter in {"node", "nodejs", "deno", "bun", "tsx"}:
        return _javascript(text)
    language = OTHER_LANGUAGES.get(kind) or OTHER_LANGUAGES.get(f".{interpreter}")
    unknown = ""
    if language is not None and language.search(text):
        unknown = f"{file.name} loads other files in a way that is not read"
    return ShellText(text.partition("\n")[2] if shebang else text, unknown)


def python_modules(text: str) -> frozenset[str]:
    """The modules that a Python text imports."""
    loaded = _python(text)
    return loaded.names if isinstance(loaded, PythonModules) else frozenset()


def _python(text: str) -> Loaded:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ShellText(text)
    changes_places = any(_changes_places(node) for node in ast.walk(tree))
    return PythonModules(
        names=frozenset(_imports(tree)),
        texts=tuple(_strings(tree)),
        unknown=SEARCHES_ELSEWHERE if changes_places else "",
    )


def _strings(tree: ast.AST) -> Iterator[str]:
    """The strings of a program that could name a file, without its documentation."""
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.value


def _changes_places(node: ast.AST) -> bool:
    """Whether it sets where modules are looked for, or loads them from elsewhere."""
    match node:
        case ast.Attribute(value=ast.Name(id="sys"), attr="path" | "meta_path" | "path_hooks"):
            return True
        case ast.Attribute(attr="addsitedir" | "spec_from_file_location" | "SourceFileLoader" | "load_source"):
            return True
        case ast.alias(name="addsitedir" | "spec_from_file_location" | "SourceFileLoader" | "load_source"):
            return True
        case ast.ImportFrom(module="sys", names=names):
            return any(each.name in {"path", "meta_path", "path_hooks", "*"} for each in names)
        case _:
            return False


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (each.name for each in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                base = "." * level + (module or "")
                yield base
                # A name may be a module of the package.
                yield from (f"{base}.{each.name}" if module else f"{base}{each.name}" for each in names)
            case ast.Call(func=function, args=[ast.Constant(value=str(name)), *_]) if _imports_by_name(function):
                yield name
            case _:
                pass


def _imports_by_name(function: ast.expr) -> bool:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in {"import_module", "__import__", "run_module", "run_path"}


def _javascript(text: str) -> Loaded:
    named = {match[2] for match in IMPORTED.finditer(text)}
    files = frozenset(name for name in named if name.startswith((".", "/")))
    packages = {_package_of(name.removeprefix("node:")) for name in named - files}
    is_mapped = any(name.startswith(("#", "~/", "@/")) for name in named)
    return JavaScriptModules(
        files,
        packages=frozenset(packages - NODE_BUILT_IN),
        texts=tuple(dict.fromkeys(match[2] for match in JAVASCRIPT_STRING.finditer(text))),
        unknown=SEARCHES_ELSEWHERE if is_mapped or COMPUTED_IMPORT.search(text) else "",
    )


def _package_of(name: str) -> str:
    """`a/b` is in the package a, `@a/b/c` in `@a/b`."""
    return "/".join(name.split("/")[: 2 if name.startswith("@") else 1])


def _package_scripts(text: str) -> str:
    """The scripts of a package.json, one per line; all of its text if that is not what it is."""
    try:
        scripts = json.loads(text)["scripts"]
        return "\n".join(str(each) for each in scripts.values())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return text
