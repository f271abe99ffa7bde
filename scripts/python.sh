# Finds a Python that can run Robota; read by other scripts.

fail() {
    printf '\n%s\n' "$*" >&2
    exit 1
}

is_new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

can_make_venv() {
    "$1" -c 'import ensurepip, venv' 2>/dev/null
}

find_python() {
    without_venv=
    for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python}; do
        is_new_enough "$candidate" || continue
        if can_make_venv "$candidate"; then
            printf '%s' "$candidate"
            return
        fi
        without_venv=$candidate
    done
    if [ -n "$without_venv" ]; then
        version=$("$without_venv" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        fail "$without_venv is Python $version, but its venv module is not complete, so nothing was installed.
Install it (Debian, Ubuntu: apt install python$version-venv), and try again."
    fi
    if [ -n "${PYTHON:-}" ]; then
        fail "PYTHON=$PYTHON is not a Python 3.11 or newer. Nothing was installed. Name another one, or leave PYTHON out."
    fi
    fail "Robota needs Python 3.11 or newer, and none was found as python3, python3.14 ... python3.11. Nothing was installed.
Install one (Debian, Ubuntu: apt install python3 python3-venv), or name it: PYTHON=/path/to/python3"
}
