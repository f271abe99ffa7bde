"""Programs of the system that a test cannot do without."""

import shutil

import pytest


def needs(*programs: str) -> pytest.MarkDecorator:
    """Skip a test on a machine that lacks one of these, and say which."""
    missing = [program for program in programs if shutil.which(program) is None]
    return pytest.mark.skipif(bool(missing), reason=f"this test needs {', '.join(missing)}, which is not installed")
