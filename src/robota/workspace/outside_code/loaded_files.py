"""Read which files a script loads in turn: shell, Python and JavaScript, as far as their text says it."""

import ast
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

MAX_BYTES: Final = 1024 * 1024
MAX_SHEBANG_BYTES: Final = 256
PYTHON_SUFFIXES: Final = frozenset({".py", ".pyw", ".pyi"})
JAVASCRIPT_SUFFIXES: Final = frozenset({".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx"})
PACKAGE_FILE: Final = "package.json"
SHEBANG: Final = re.compile(rb"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+)*)?(?:\S*/)?([A-Za-z]+)")
IMPORTED: Final = re.compile(
    r"""(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\(|\brequire\.resolve\s*\()\s*(["'`])([^"'`\n]+)\1"""
)
NODE_BUILT_IN: Final = frozenset(
    "assert async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns domain "
    "events fs http http2 https inspector module net os path perf_hooks process punycode querystring readline repl "
    "stream string_decoder sys test timers tls trace_events tty url util v8 vm wasi worker_threads zlib".split()
)


class ShellText(msgspec.Struct, frozen=True):
    """Text in which words may name files: a shell script, a makefile, the scripts of a package."""

    text: str


class PythonModules(msgspec.Struct, frozen=True):
    """The modules that a Python file imports, absolute by name and relative with their dots."""

    names: frozenset[str]


class JavaScriptModules(msgspec.Struct, frozen=True):
    """The relative files that a JavaScript file imports, and whether it imports packages."""

    files: frozenset[str]
    has_packages: bool


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
    return ShellText(text.partition("\n")[2] if shebang else text)


def python_modules(text: str) -> frozenset[str]:
    """The modules that a Python text imports."""
    loaded = _python(text)
    return loaded.names if isinstance(loaded, PythonModules) else frozenset()


def shebang_words(data: bytes) -> list[str]:
    """The interpreter in the first line of a script, with its arguments."""
    first = data[:MAX_SHEBANG_BYTES].partition(b"\n")[0]
    return os.fsdecode(first[2:]).split() if first.startswith(b"#!") else []


def _python(text: str) -> Loaded:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ShellText(text)
    return PythonModules(frozenset(_imports(tree)))


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
    named = {found[2] for found in IMPORTED.finditer(text)}
    files = frozenset(name for name in named if name.startswith((".", "/")))
    packages = {name.removeprefix("node:").partition("/")[0] for name in named - files}
    return JavaScriptModules(files, has_packages=bool(packages - NODE_BUILT_IN))


def _package_scripts(text: str) -> str:
    """The scripts of a package.json, one per line; all of its text if that is not what it is."""
    try:
        scripts = json.loads(text)["scripts"]
        return "\n".join(str(each) for each in scripts.values())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return text
