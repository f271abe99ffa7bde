"""The filter for system calls: what it says about every call, and that the kernel takes it and does the same."""

import json
import os
import platform
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robota.workspace.sandbox.seccomp import (
    ARCHITECTURES,
    CHANGING_ATTRIBUTES,
    CHANGING_FILES,
    CHANGING_PRIORITIES,
    CLONE,
    CLONE3,
    COPYING_VOLUMES,
    HARMLESS_REQUESTS,
    IOCTL,
    NEW_NAMESPACES,
    OPENAT2,
    ORDINARY_SOCKETS,
    PRLIMIT,
    REFUSED_CALLS,
    REFUSED_IOCTLS,
    SCHEDULING,
    SOCKET,
    SOCKETPAIR,
    TRUNCATE,
    Sockets,
    filter_program,
    truncation_filter,
)

ALLOWED, EPERM, ENOSYS, EOPNOTSUPP = 0x7FFF0000, 0x00050001, 0x00050026, 0x0005005F
MACHINES = list(ARCHITECTURES)
WORDS = st.integers(0, 2**32 - 1)
TRY = Path(__file__).with_name("seccomp_trial.py")


def verdict(program: bytes, data: bytes) -> int:
    """What the kernel's interpreter would say: enough of it for the instructions we use."""
    instructions = list(struct.iter_unpack("=HBBI", program))
    place = accumulator = 0
    while True:
        code, if_true, if_false, operand = instructions[place]
        place += 1
        match code:
            case 0x20:
                [accumulator] = struct.unpack_from("=I", data, operand)
            case 0x06:
                return int(operand)
            case 0x15:
                place += if_true if accumulator == operand else if_false
            case 0x35:
                place += if_true if accumulator >= operand else if_false
            case 0x45:
                place += if_true if accumulator & operand else if_false
            case 0x54:
                accumulator &= operand
            case _:
                raise AssertionError(f"unknown instruction {code:#x}")


def call(machine: str, number: int, *arguments: int) -> bytes:
    return struct.pack("=IIQ6Q", number, ARCHITECTURES[machine], 0, *arguments, *[0] * (6 - len(arguments)))


def built(machine: str, *, sockets: Sockets = Sockets.ORDINARY) -> bytes:
    program = filter_program(machine, sockets=sockets)
    assert program is not None
    return program


@pytest.mark.parametrize("machine", MACHINES)
def test_every_jump_lands_inside_and_the_end_returns(machine: str) -> None:
    instructions = list(struct.iter_unpack("=HBBI", built(machine)))
    assert len(instructions) <= 4096
    for place, (code, if_true, if_false, _) in enumerate(instructions):
        if code & 0x07 == 0x05:
            assert place + 1 + max(if_true, if_false) < len(instructions)
    assert instructions[-1][0] == 0x06


@pytest.mark.parametrize("machine", MACHINES)
def test_the_listed_calls_are_refused_and_no_others(machine: str) -> None:
    column = MACHINES.index(machine)
    program = built(machine)
    refused = {numbers[column] for numbers in REFUSED_CALLS.values()}
    others = {CLONE3[column]: ENOSYS, OPENAT2[column]: ENOSYS, SOCKET[column]: EPERM}
    for number in range(600):
        expected = EPERM if number in refused else others.get(number, ALLOWED)
        assert verdict(program, call(machine, number)) == expected, number


@given(number=st.integers(0, 600), first=WORDS, second=WORDS)
def test_a_call_of_another_architecture_is_refused(number: int, first: int, second: int) -> None:
    assert verdict(built("x86_64"), call("aarch64", number, first, second)) == EPERM
    assert verdict(built("x86_64"), call("x86_64", number | 0x40000000, first, second)) == EPERM


@given(machine=st.sampled_from(MACHINES), flags=WORDS, above=WORDS)
def test_clone_makes_no_namespaces(machine: str, flags: int, above: int) -> None:
    number = CLONE[MACHINES.index(machine)] or 0
    expected = EPERM if flags & NEW_NAMESPACES else ALLOWED
    assert verdict(built(machine), call(machine, number, above << 32 | flags)) == expected


REQUESTS = WORDS | st.sampled_from([*REFUSED_IOCTLS, *HARMLESS_REQUESTS])
GROUPS = st.just(0) | st.sampled_from([*COPYING_VOLUMES, *CHANGING_FILES])


@given(machine=st.sampled_from(MACHINES), request=REQUESTS, group=GROUPS, above=WORDS)
def test_nothing_is_typed_into_a_terminal_and_no_volume_copied(
    machine: str, request: int, group: int, above: int
) -> None:
    """Also with something in the upper half, which the kernel throws away."""
    number = IOCTL[MACHINES.index(machine)] or 0
    request = request & ~0xFF00 | group if group else request
    for owner, groups in ((None, COPYING_VOLUMES), (1000, (*COPYING_VOLUMES, *CHANGING_FILES))):
        program = filter_program(machine, owner=owner)
        assert program is not None
        is_refused = request in REFUSED_IOCTLS or (request & 0xFF00 in groups and request not in HARMLESS_REQUESTS)
        expected = EPERM if is_refused else ALLOWED
        assert verdict(program, call(machine, number, 0, above << 32 | request)) == expected


@given(machine=st.sampled_from(MACHINES), flags=WORDS, above=WORDS)
def test_where_landlock_does_not_restrict_truncating_only_files_open_for_writing_are_truncated(
    machine: str, flags: int, above: int
) -> None:
    program = truncation_filter(machine)
    assert program is not None
    column = MACHINES.index(machine)
    assert verdict(program, call(machine, TRUNCATE[column] or 0)) == EPERM
    expected = EPERM if flags & os.O_TRUNC and not flags & os.O_ACCMODE else ALLOWED
    assert verdict(program, call(machine, (257, 56)[column], 0, 0, above << 32 | flags)) == expected
    if machine == "x86_64":
        assert verdict(program, call(machine, 2, 0, above << 32 | flags)) == expected


@given(machine=st.sampled_from(MACHINES), family=st.integers(0, 60), sockets=st.sampled_from(Sockets))
def test_sockets_are_of_ordinary_families(machine: str, family: int, sockets: Sockets) -> None:
    number = SOCKET[MACHINES.index(machine)] or 0
    allowed = {
        Sockets.ORDINARY: ORDINARY_SOCKETS,
        Sockets.NO_UNIX: ORDINARY_SOCKETS[1:],
        Sockets.ONLY_PAIRS: (),
    }
    expected = ALLOWED if family in allowed[sockets] else EPERM
    assert verdict(built(machine, sockets=sockets), call(machine, number, family)) == expected


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("flags", [0, 0o2000000, 0o4000, 0o2004000], ids=["plain", "cloexec", "nonblock", "both"])
def test_without_unix_sockets_only_pairs_that_stay_connected_are_made(machine: str, flags: int) -> None:
    """A datagram socket of a pair could still send to any name."""
    number = SOCKETPAIR[MACHINES.index(machine)] or 0
    for sockets in (Sockets.NO_UNIX, Sockets.ONLY_PAIRS):
        program = built(machine, sockets=sockets)
        said = {kind: verdict(program, call(machine, number, 1, kind | flags)) for kind in (1, 2, 3, 5)}
        assert said == {1: ALLOWED, 2: EPERM, 3: EPERM, 5: ALLOWED}


@given(machine=st.sampled_from(MACHINES), pid=st.just(0) | WORDS, above=WORDS)
def test_limits_are_changed_of_the_caller_only(machine: str, pid: int, above: int) -> None:
    number = PRLIMIT[MACHINES.index(machine)] or 0
    assert verdict(built(machine), call(machine, number, above << 32 | pid)) == (EPERM if pid else ALLOWED)


@given(machine=st.sampled_from(MACHINES), pid=st.just(0) | WORDS, whose=st.integers(0, 3), above=WORDS)
def test_where_other_processes_can_be_reached_only_its_own_priority_changes(
    machine: str, pid: int, whose: int, above: int
) -> None:
    """`whose` says what the number means: a process, a group, a user."""
    column, program = MACHINES.index(machine), filter_program(machine, owner=1000)
    assert program is not None
    who = above << 32 | pid
    for numbers, process in CHANGING_PRIORITIES:
        expected = ALLOWED if (whose, pid) == (process, 0) else EPERM
        assert verdict(program, call(machine, numbers[column] or 0, above << 32 | whose, who)) == expected
    for numbers in SCHEDULING:
        assert verdict(program, call(machine, numbers[column] or 0, who)) == (EPERM if pid else ALLOWED)


@given(mode=WORDS, flags=WORDS, above=WORDS)
def test_no_file_runs_with_the_rights_of_its_owner(mode: int, flags: int, above: int) -> None:
    """The setuid bit; setgid is for directories, too, so only new files cannot have it."""
    program, given_mode = built("x86_64"), above << 32 | mode
    changed = EPERM if mode & 0o4000 else ALLOWED
    created = EPERM if mode & 0o6000 else ALLOWED
    opened = created if flags & 0o20000100 else ALLOWED
    assert verdict(program, call("x86_64", 90, 7, given_mode)) == changed
    assert verdict(program, call("x86_64", 91, 7, given_mode)) == changed
    assert verdict(program, call("x86_64", 268, 7, 7, given_mode)) == changed
    assert verdict(program, call("x86_64", 452, 7, 7, given_mode)) == changed
    assert verdict(program, call("x86_64", 85, 7, given_mode)) == created
    assert verdict(program, call("x86_64", 259, 7, 7, given_mode)) == created
    assert verdict(program, call("x86_64", 2, 7, flags, given_mode)) == opened
    assert verdict(program, call("x86_64", 257, 7, 7, flags, given_mode)) == opened
    assert verdict(built("aarch64"), call("aarch64", 56, 7, 7, flags, given_mode)) == opened


@given(uid=WORDS | st.sampled_from([1000, 2**32 - 1]), above=WORDS)
def test_where_files_outside_can_be_reached_none_is_given_away(uid: int, above: int) -> None:
    program = filter_program("x86_64", owner=1000)
    assert program is not None
    expected = ALLOWED if uid in (1000, 2**32 - 1) else EPERM
    for number, place in ((92, 1), (93, 1), (94, 1), (260, 2)):
        assert verdict(program, call("x86_64", number, *[7] * place, above << 32 | uid)) == expected
        assert verdict(built("x86_64"), call("x86_64", number, *[7] * place, uid)) == ALLOWED
    for numbers in CHANGING_ATTRIBUTES:
        assert verdict(program, call("x86_64", numbers[0])) == EOPNOTSUPP


@pytest.mark.parametrize("sockets", Sockets)
def test_the_kernel_takes_the_program_and_does_what_it_says(sockets: Sockets) -> None:
    program = filter_program(sockets=sockets)
    if program is None:
        pytest.skip(f"no filter for {platform.machine()}")
    tried = subprocess.run(
        [sys.executable, str(TRY), program.hex()], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    )
    said = json.loads(tried.stdout)
    # 1 is EPERM, 38 ENOSYS; 0 means that it worked.
    assert said["refused"] == {name: 1 for name in said["refused"]}
    assert said["clone3"] == 38
    assert (said["clone with namespaces"], said["fork"], said["threads"]) == (1, 0, 0)
    assert said["TIOCSTI"] == 1
    assert said["socketpair"] == 0
    assert said["unix"] == (0 if sockets is Sockets.ORDINARY else 1)
    assert (said["inet udp"], said["netlink"]) == ((1, 1) if sockets is Sockets.ONLY_PAIRS else (0, 0))
    assert (said["vsock"], said["packet"], said["alg"]) == (1, 1, 1)


def test_a_machine_we_do_not_know_has_no_filter() -> None:
    assert filter_program("riscv64") is None
