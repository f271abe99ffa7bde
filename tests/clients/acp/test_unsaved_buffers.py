"""Files that the user has changed in the editor and not saved: read and written there, and nowhere else."""

from pathlib import Path
from typing import Any

from tests.cli.scripts import call, script
from tests.clients.acp.editor import Editor, editing, selects
from tests.harness.cli import Robota

FS = {"fs": {"readTextFile": True, "writeTextFile": True}}
READ = call("read_file", path="a.txt")
EDIT = call("edit_file", path="a.txt", old_string="typed", new_string="edited")


def hold_buffers(editor: Editor, buffers: dict[str, str], written: list[str], *, saves: bool = False) -> None:
    """Answer as an editor with these files open."""

    def read(params: dict[str, Any]) -> Any:
        path = Path(params["path"])
        return {"content": buffers[path.name] if path.name in buffers else path.read_text()}

    def write(params: dict[str, Any]) -> Any:
        path = Path(params["path"])
        written.append(path.name)
        buffers[path.name] = params["content"]
        if saves:
            path.write_text(buffers.pop(path.name))
        return {}

    editor.answers["fs/read_text_file"], editor.answers["fs/write_text_file"] = read, write
    editor.answers["session/request_permission"] = selects("allow_once")


def test_unsaved_changes_are_read_and_edited_in_the_editor(robota: Robota) -> None:
    (robota.workspace / "a.txt").write_text("saved\n")
    script(robota, {"calls": [READ]}, {"expect": {"result": "typed"}, "calls": [EDIT]}, {"text": "Done."})
    buffers, written = {"a.txt": "typed\n"}, list[str]()
    with editing(robota) as editor:
        session = editor.open(robota.workspace, **FS)
        hold_buffers(editor, buffers, written)
        assert editor.prompt(session, "go") == "end_turn"
        shown = [each for each in editor.calls().values() if each["kind"] == "edit"]
        assert shown[0]["status"] == "completed" and shown[0]["content"][0]["newText"] == "edited\n"
    assert (buffers["a.txt"], written) == ("edited\n", ["a.txt"])
    assert (robota.workspace / "a.txt").read_text() == "saved\n"


def test_a_file_without_unsaved_changes_is_written_to_disk_alone(robota: Robota) -> None:
    (robota.workspace / "a.txt").write_bytes(b"typed\r\n")
    script(robota, {"calls": [READ]}, {"calls": [EDIT]}, {"text": "Done."})
    written: list[str] = []
    with editing(robota) as editor:
        session = editor.open(robota.workspace, **FS)
        hold_buffers(editor, {"a.txt": "typed\n"}, written)  # editors show lines without carriage returns
        editor.prompt(session, "go")
    assert (robota.workspace / "a.txt").read_bytes() == b"edited\r\n" and not written


def test_what_the_user_types_while_a_change_is_shown_is_not_overwritten(robota: Robota) -> None:
    """Neither in a buffer that was unsaved before, nor in one that was not."""
    for buffers in ({"a.txt": "typed\n"}, {}):
        (robota.workspace / "a.txt").write_text("typed\n" if not buffers else "saved\n")
        script(robota, {"calls": [READ]}, {"calls": [EDIT]}, {"expect": {"error": True}, "text": "Not."})
        written: list[str] = []
        with editing(robota) as editor:
            session = editor.open(robota.workspace, **FS)
            hold_buffers(editor, buffers, written)

            def type_more(params: dict[str, Any], buffers: dict[str, str] = buffers) -> Any:
                buffers["a.txt"] = "typed and more\n"
                return selects("allow_once")(params)

            editor.answers["session/request_permission"] = type_more
            assert editor.prompt(session, "go") == "end_turn" and editor.said() == "Not."
        assert (buffers["a.txt"], written) == ("typed and more\n", [])
        assert "edited" not in (robota.workspace / "a.txt").read_text()


def test_a_change_that_the_editor_refuses_is_an_error_and_changes_nothing(robota: Robota) -> None:
    (robota.workspace / "a.txt").write_text("saved\n")
    script(robota, {"calls": [READ]}, {"calls": [EDIT]}, {"expect": {"result": "has not taken"}, "text": "Not."})
    with editing(robota) as editor:
        session = editor.open(robota.workspace, **FS)
        hold_buffers(editor, {"a.txt": "typed\n"}, [])

        def refuse(params: dict[str, Any]) -> None:
            editor.send({"id": editor.requests[-1]["id"], "error": {"code": -32603, "message": "read only"}})

        editor.answers["fs/write_text_file"] = refuse
        assert editor.prompt(session, "go") == "end_turn" and editor.said() == "Not."
    assert (robota.workspace / "a.txt").read_text() == "saved\n"


def test_two_edits_of_an_unsaved_file_follow_each_other(robota: Robota) -> None:
    (robota.workspace / "a.txt").write_text("saved\n")
    again = call("edit_file", path="a.txt", old_string="edited", new_string="edited twice")
    script(robota, {"calls": [READ]}, {"calls": [EDIT]}, {"calls": [again]}, {"text": "Done."})
    buffers = {"a.txt": "typed\n"}
    with editing(robota) as editor:
        session = editor.open(robota.workspace, **FS)
        hold_buffers(editor, buffers, [], saves=True)
        assert editor.prompt(session, "go") == "end_turn" and editor.said() == "Done."
    assert (robota.workspace / "a.txt").read_text() == "edited twice\n"
