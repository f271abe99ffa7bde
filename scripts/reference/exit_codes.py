"""The page on exit codes, made from the module that holds them."""

from robota.clients.headless.exit_codes import MEANINGS

HEAD = """\
# Exit codes

Made from the program by `make reference`. This is how `robota -p` ends; sub-commands use 0, 1, 2 and 3 alike. With
`--output-format json` and `stream-json` the result object is printed in every case but 141.

| code | meaning |
|---:|---|
"""


def exit_code_page() -> str:
    """Every exit code with its meaning."""
    return HEAD + "".join(f"| {code} | {meaning} |\n" for code, meaning in MEANINGS.items())
