"""Programs that run for the user, unsandboxed: editor, clipboard, status line."""
