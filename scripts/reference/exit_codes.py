"""The page on exit codes, made from the module that holds them."""

from robota.clients.headless.exit_codes import MEANINGS

HEAD = """\
# Exit codes

Generated from the program by `make reference`. These are the exit codes of `robota -p`; sub-commands use 0 to 3. With
`--output-format json` and `stream-json` the result object is printed in every case but 141.

| code | meaning |
|---:|---|
"""


def exit_code_page() -> str:
    """Every exit code with its meaning."""
    return HEAD + "".join(f"| {code} | {meaning} |\n" for code, meaning in MEANINGS.items())
