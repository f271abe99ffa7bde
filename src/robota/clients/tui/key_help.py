"""Every key, as `?` and docs/terminal.md show them."""

from typing import Final

KEY_HELP: Final = (
    ("Enter", "send; while the agent works, queue for after its answer"),
    ("Ctrl+S", "send with the next request of the running turn"),
    ("Ctrl+J, Alt+Enter", "new line; also Shift+Enter where the terminal tells it, and a backslash before Enter"),
    ("Up, Down", "prompts sent before; on an empty input with a queue, change what waits"),
    ("Backspace", "on an empty input, take the last words out of the queue"),
    ("Ctrl+R", "search the prompts sent before"),
    ("/ and Tab", "complete a command"),
    ("@ and Tab", "complete a file"),
    ("!command", "run it yourself; the model is told with your next words"),
    ("# words", "remember them"),
    ("Ctrl+V", "put the image of the clipboard in"),
    ("Esc", "close what is open, stop what runs; twice at rest, go back to an earlier prompt"),
    ("Ctrl+C", "clear the input, stop what runs; twice, leave"),
    ("Ctrl+D", "leave, on an empty input"),
    ("Shift+Tab", "next permission mode"),
    ("Ctrl+O", "everything so far, whole, with search"),
    ("Ctrl+G", "write in $EDITOR"),
    ("Ctrl+L", "clear the screen"),
    ("Ctrl+Z", "suspend; fg comes back"),
    ("Tab", "answer the question that is open while something is written"),
)
