"""Every key, as `?` and docs/terminal.md show them."""

from typing import Final

KEY_HELP: Final = (
    ("Enter", "send; while the agent is working, queue for after its answer"),
    ("Ctrl+S", "send with the next request to the model, without waiting for the answer"),
    ("Ctrl+J, Alt+Enter", "new line; also Shift+Enter if the terminal reports it, or a backslash before Enter"),
    ("Up, Down", "previous prompts; on an empty input with queued messages, edit the queue"),
    ("Backspace", "on an empty input, remove the last queued message"),
    ("Ctrl+R", "search previous prompts"),
    ("/ and Tab", "complete a command"),
    ("@ and Tab", "complete a file"),
    ("!command", "run a command yourself; its output is sent with your next prompt"),
    ("# text", "save the text to memory"),
    ("Ctrl+V", "paste an image from the clipboard"),
    ("Esc", "close what is open or stop the agent; twice while idle, rewind, or clear the input if you have a draft"),
    ("Ctrl+C", "clear the input (Up brings it back) or stop the agent; twice, exit"),
    ("Ctrl+D", "exit, on an empty input"),
    ("Shift+Tab", "next permission mode"),
    ("Ctrl+O", "the full transcript, with search"),
    ("Ctrl+G", "edit the input in $EDITOR"),
    ("Ctrl+L", "clear the screen"),
    ("Ctrl+Z", "suspend; fg resumes"),
    ("Tab", "answer the open question while you have a draft in the input"),
)
