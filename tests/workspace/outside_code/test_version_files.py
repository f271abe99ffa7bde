"""Files that choose the version of a program: one that names a directory makes shims run what is there."""

from pathlib import Path

import pytest

from robota.workspace.outside_code.code_search import NamedProgram
from robota.workspace.outside_code.outside_code import CodeRefused, OutsideCode


def verify(root: Path, *, is_trusted: bool, attended: bool = True) -> str:
    """Why a hook that runs a program of the user is not protected."""
    env = {"HOME": str(root.parent / "home"), "PATH": "/usr/bin:/bin"}
    code = OutsideCode(root, env, is_trusted=is_trusted, attended=attended)
    return code.verify(NamedProgram(label="hook", argv=("/bin/sh", "-c", "node ~/hook.js"), cwd=root)).limit


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".tool-versions", "python 3.12.1\nnodejs path:./tools/node\n"),
        (".tool-versions", "nodejs 20.1.0 path:~/x\n"),
        (".tool-versions", "nodejs ./tools\n"),
        (".python-version", "../../project/tools\n"),
        (".ruby-version", "/srv/project/tools"),
        (".tool-versions", "nodejs 20.1.0\n" * 5000),
    ],
)
def test_a_program_does_not_run_where_its_version_may_be_a_directory_of_a_foreign_workspace(
    tmp_path: Path, name: str, text: str
) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / name).write_text(text)
    with pytest.raises(CodeRefused, match="not trusted"):
        verify(root, is_trusted=False)
    with pytest.raises(CodeRefused, match=f"{name} names a directory"):
        verify(root, is_trusted=True, attended=False)
    assert name in verify(root, is_trusted=True)


def test_versions_are_no_code(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / ".tool-versions").write_text("nodejs 20.1.0 # ../x, see path:\npython 3.12.1 system\nerlang ref:v1.0.2-a\n")
    (root / ".python-version").write_text("3.11.7/envs/work\n")
    (root / ".node-version").mkdir()  # as it is while a command runs in the sandbox
    assert verify(root, is_trusted=False) == ""
