"""A unified diff read back into the changes of each file."""

import subprocess
from pathlib import Path

from robota.protocol.unified_diff import files_in


def test_what_git_writes_is_read_back(tmp_path: Path) -> None:
    def run(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    run("init", "-q")
    (tmp_path / "kept.py").write_text("a\nb\n-- c\nd\n")
    (tmp_path / "gone").write_text("x\n")
    (tmp_path / "old name").write_text("same\n" * 9)
    run("add", "-A")
    run("-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false", "commit", "-qm", "begin")
    (tmp_path / "kept.py").write_text("a\nB\n++ c\nd")
    (tmp_path / "gone").unlink()
    (tmp_path / "old name").rename(tmp_path / "new name")
    (tmp_path / "new.bin").write_bytes(b"\0\1")
    run("add", "-A")
    diff = run("diff", "--cached", "-M")
    files = {file.path: file for file in files_in(diff)}
    assert set(files) == {"kept.py", "gone (deleted)", "new name (was old name)", "new.bin (binary)"}
    kept = files["kept.py"]
    assert (kept.added, kept.removed) == (3, 3)
    assert [(line.old_line, line.new_line) for line in kept.hunks[0].lines][:3] == [(1, 1), (2, None), (3, None)]
    assert [line.text for line in kept.hunks[0].lines if line.kind == "add"] == ["B", "++ c", "d"]
    assert files["new.bin (binary)"].is_new and files["gone (deleted)"].removed == 1


def test_what_is_no_diff_is_passed_over() -> None:
    assert files_in("words\n@@ -1 +1 @@\n+x\n") == ()
