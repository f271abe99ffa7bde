"""Build the seccomp filter, a BPF program that refuses system calls that no command of a coding agent needs."""

import platform
import struct
from collections.abc import Sequence
from enum import Enum, auto
from functools import cache
from typing import Final

# One instruction: opcode, jump offset if the comparison is true, jump offset if not, and operand.
Instruction = tuple[int, int, int, int]

LOAD: Final = 0x20
JUMP_IF_EQUAL: Final = 0x15
JUMP_IF_AT_LEAST: Final = 0x35
JUMP_IF_ANY_BIT: Final = 0x45
KEEP_BITS: Final = 0x54
RETURN: Final = 0x06

LOAD_NUMBER: Final = (LOAD, 0, 0, 0)
LOAD_ARCHITECTURE: Final = (LOAD, 0, 0, 4)
# Only the lower half of an argument: the kernel itself ignores the upper half of these.
LOAD_FIRST_ARGUMENT: Final = (LOAD, 0, 0, 16)
LOAD_SECOND_ARGUMENT: Final = (LOAD, 0, 0, 24)
LOAD_THIRD_ARGUMENT: Final = (LOAD, 0, 0, 32)
LOAD_FOURTH_ARGUMENT: Final = (LOAD, 0, 0, 40)
ALLOW: Final = (RETURN, 0, 0, 0x7FFF0000)
REFUSE: Final = (RETURN, 0, 0, 0x00050000 | 1)  # EPERM: programs report it and do not crash
UNKNOWN: Final = (RETURN, 0, 0, 0x00050000 | 38)  # ENOSYS: programs fall back to an older call
UNSUPPORTED: Final = (RETURN, 0, 0, 0x00050000 | 95)  # EOPNOTSUPP: as on file systems that do not have it

X32_BIT: Final = 0x40000000
ARCHITECTURES: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# Name → number on x86_64, on aarch64.
Numbers = tuple[int, int | None]
REFUSED_CALLS: Final[dict[str, Numbers]] = {
    # Access to other processes.
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    # Large parts of the kernel with many vulnerabilities; io_uring would also open sockets past this filter.
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "modify_ldt": (154, None),
    # Other mounts and namespaces; a file handle bypasses the permissions of all parent directories.
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "unshare": (272, 97),
    "setns": (308, 268),
    "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262),
    # Administration of the whole machine.
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "acct": (163, 89),
    "syslog": (103, 116),
    "vhangup": (153, 58),
    "iopl": (172, None),
    "ioperm": (173, None),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
}

# Where Landlock is all that confines a command: shared memory, semaphores and messages belong to no file, so that other
# programs of the user take part; and files have attributes that are no part of their content.
CALLS_BEYOND_LANDLOCK: Final[dict[str, Numbers]] = {
    "file_setattr": (469, 469),
    "shmget": (29, 194),
    "shmctl": (31, 195),
    "shmat": (30, 196),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
}

CLONE: Final[Numbers] = (56, 220)
CLONE3: Final[Numbers] = (435, 435)
IOCTL: Final[Numbers] = (16, 29)
SOCKET: Final[Numbers] = (41, 198)
SOCKETPAIR: Final[Numbers] = (53, 199)
PRLIMIT: Final[Numbers] = (302, 261)

# Calls that change the priority of a process, which they name by their second argument, and in the first one say that
# it is a process and not a group; and those that change how it is scheduled, which name it by their first. 0 is the
# caller. Threads set their own processors by their number, so that call is not among them.
CHANGING_PRIORITIES: Final[tuple[tuple[Numbers, int], ...]] = (
    ((141, 140), 0),  # setpriority, PRIO_PROCESS
    ((251, 30), 1),  # ioprio_set, IOPRIO_WHO_PROCESS
)
SCHEDULING: Final[tuple[Numbers, ...]] = ((144, 119), (142, 118), (314, 274))  # sched_setscheduler, _setparam, _setattr

# A file with the setuid bit runs with the rights of its owner, whoever starts it: other users of the machine would
# leave the sandbox through it. Directories need the setgid bit, so that one is refused only for new files.
SETUID, SETUID_AND_SETGID = 0x800, 0xC00
# Calls that set a mode, with the argument it is in. Those that open a file have one only if they create it.
CHANGING_MODES: Final[tuple[tuple[Numbers, Instruction], ...]] = (
    ((90, None), LOAD_SECOND_ARGUMENT),  # chmod
    ((91, 52), LOAD_SECOND_ARGUMENT),  # fchmod
    ((268, 53), LOAD_THIRD_ARGUMENT),  # fchmodat
    ((452, 452), LOAD_THIRD_ARGUMENT),  # fchmodat2
)
CREATING: Final[tuple[tuple[Numbers, Instruction], ...]] = (
    ((85, None), LOAD_SECOND_ARGUMENT),  # creat
    ((133, None), LOAD_SECOND_ARGUMENT),  # mknod
    ((259, 33), LOAD_THIRD_ARGUMENT),  # mknodat
)
OPENING: Final[tuple[tuple[Numbers, Instruction, Instruction], ...]] = (
    ((2, None), LOAD_SECOND_ARGUMENT, LOAD_THIRD_ARGUMENT),  # open
    ((257, 56), LOAD_THIRD_ARGUMENT, LOAD_FOURTH_ARGUMENT),  # openat
)
CREATES: Final = 0x400040  # O_CREAT, O_TMPFILE
TRUNCATES, WRITES = 0x200, 0x3  # O_TRUNC; O_WRONLY, O_RDWR
TRUNCATE: Final[Numbers] = (76, 45)
OPENAT2: Final[Numbers] = (437, 437)  # its mode is in memory, which a filter cannot read
# Calls that change the owner, with the argument it is in, and those that set or remove ACLs and other attributes.
CHANGING_OWNERS: Final[tuple[tuple[Numbers, Instruction], ...]] = (
    ((92, None), LOAD_SECOND_ARGUMENT),  # chown
    ((93, 55), LOAD_SECOND_ARGUMENT),  # fchown
    ((94, None), LOAD_SECOND_ARGUMENT),  # lchown
    ((260, 54), LOAD_THIRD_ARGUMENT),  # fchownat
)
CHANGING_ATTRIBUTES: Final[tuple[Numbers, ...]] = (
    *((188, 5), (189, 6), (190, 7), (463, 463)),  # setxattr, lsetxattr, fsetxattr, setxattrat
    *((197, 14), (198, 15), (199, 16), (466, 466)),  # removexattr, lremovexattr, fremovexattr, removexattrat
)
SAME_OWNER: Final = 0xFFFFFFFF

NEW_NAMESPACES: Final = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
# TIOCSTI inserts input into the user's terminal; TIOCLINUX pastes into a console.
REFUSED_IOCTLS: Final = (0x5412, 0x541C)
# Requests to file systems, which act on whatever is beneath a directory that was opened for reading. The second byte of
# a request says to whom it is addressed. Some file systems make a copy of a whole volume: one in the workspace would
# contain what mounts hide, and one elsewhere would bring files of the workspace there past Landlock.
REQUEST_GROUP: Final = 0xFF00
COPYING_VOLUMES: Final = (0x9400, 0xBC00, 0x6F00)  # btrfs, bcachefs, OCFS2
# Flags, versions, encryption and the like, of files that can only be read: ext4 and all others, XFS, F2FS.
CHANGING_FILES: Final = (0x6600, 0x7600, 0x5800, 0xF500)
# FICLONE, FICLONERANGE, FIDEDUPERANGE; FS_IOC_GETFLAGS (also of 32 bits), FIEMAP, FS_IOC_GETVERSION, FS_IOC_FSGETXATTR.
HARMLESS_REQUESTS: Final = (
    *(0x40049409, 0x4020940D, 0xC0189436),
    *(0x80086601, 0x80046601, 0xC020660B, 0x80087601, 0x801C581F),
)
# Setting resource limits of other processes acts like a signal: without files or CPU time, Robota could not work.
ITSELF: Final = 0
UNIX_SOCKETS: Final = 1
# Unix, IPv4, IPv6, netlink. All others are refused: vsock ignores network namespaces, and the rest (packets, kernel
# crypto, Bluetooth, IPsec keys, CAN, TIPC …) are attack surface of the kernel that no build needs.
ORDINARY_SOCKETS: Final = (UNIX_SOCKETS, 2, 10, 16)


# A bit that the types of datagram sockets have (SOCK_DGRAM, SOCK_RAW). One of a pair of those can be sent from to any
# address; the ends of other pairs stay connected to each other.
DATAGRAMS: Final = 0x2


class Sockets(Enum):
    """The sockets that a command may create."""

    ORDINARY = auto()
    NO_UNIX = auto()  # only connected pairs of them
    ONLY_PAIRS = auto()  # the same, and no others


FAMILIES: Final = {
    Sockets.ORDINARY: ORDINARY_SOCKETS,
    Sockets.NO_UNIX: tuple(family for family in ORDINARY_SOCKETS if family != UNIX_SOCKETS),
    Sockets.ONLY_PAIRS: (),
}


@cache
def filter_program(
    machine: str | None = None, *, sockets: Sockets = Sockets.ORDINARY, owner: int | None = None
) -> bytes | None:
    """The filter for this machine; None for an architecture whose system call numbers we do not know.

    With an `owner`, files can be given to nobody else, their ACLs and other attributes cannot be changed, shared memory
    without a file is closed, and processes change only their own priority: for a sandbox in which files, memory and
    processes of others can be reached.
    """
    machine = machine or platform.machine()
    if machine not in ARCHITECTURES:
        return None
    column = list(ARCHITECTURES).index(machine)
    # The most frequent calls come first.
    program = [*_only_calls_of(machine), *_about_modes(column)]
    program += [] if owner is None else [*_about_owners(column, owner), *_about_priorities(column)]
    refused = REFUSED_CALLS if owner is None else {**REFUSED_CALLS, **CALLS_BEYOND_LANDLOCK}
    for numbers in refused.values():
        program += _judge(numbers[column], [REFUSE])
    program += _judge(CLONE[column], [LOAD_FIRST_ARGUMENT, *_refused_if_any(NEW_NAMESPACES)])
    # Its flags are in memory, which a filter cannot read; C libraries fall back to `clone`.
    program += _judge(CLONE3[column], [UNKNOWN])
    program += _about_requests(column, COPYING_VOLUMES if owner is None else (*COPYING_VOLUMES, *CHANGING_FILES))
    program += _judge(PRLIMIT[column], [LOAD_FIRST_ARGUMENT, *_one_of((ITSELF,), ALLOW), REFUSE])
    program += _judge(SOCKET[column], [LOAD_FIRST_ARGUMENT, *_one_of(FAMILIES[sockets], ALLOW), REFUSE])
    if sockets is not Sockets.ORDINARY:
        program += _judge(SOCKETPAIR[column], [LOAD_SECOND_ARGUMENT, *_refused_if_any(DATAGRAMS)])
    return _assembled([*program, ALLOW])


@cache
def truncation_filter(machine: str | None = None) -> bytes | None:
    """An additional filter where Landlock does not restrict that files are emptied, which it does from Linux 6.2 on.

    A file that was opened for writing can be, but not one that is named, or opened for reading.
    """
    machine = machine or platform.machine()
    if machine not in ARCHITECTURES:
        return None
    column = list(ARCHITECTURES).index(machine)
    program = [*_only_calls_of(machine), *_judge(TRUNCATE[column], [REFUSE])]
    for numbers, flags, _ in OPENING:
        empties = [flags, (JUMP_IF_ANY_BIT, 1, 0, TRUNCATES), ALLOW]
        program += _judge(numbers[column], [*empties, (JUMP_IF_ANY_BIT, 0, 1, WRITES), ALLOW, REFUSE])
    return _assembled([*program, ALLOW])


def _only_calls_of(machine: str) -> list[Instruction]:
    """Refuse calls of other architectures, then load the number of the call."""
    program = [LOAD_ARCHITECTURE, (JUMP_IF_EQUAL, 1, 0, ARCHITECTURES[machine]), REFUSE, LOAD_NUMBER]
    if machine == "x86_64":
        # The same calls under their numbers of the x32 ABI.
        program += [(JUMP_IF_AT_LEAST, 0, 1, X32_BIT), REFUSE]
    return program


def _assembled(program: Sequence[Instruction]) -> bytes:
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


def _about_requests(column: int, groups: Sequence[int]) -> list[Instruction]:
    single = [*_one_of(REFUSED_IOCTLS, REFUSE), *_one_of(HARMLESS_REQUESTS, ALLOW)]
    by_group = [(KEEP_BITS, 0, 0, REQUEST_GROUP), *_one_of(groups, REFUSE), ALLOW]
    return _judge(IOCTL[column], [LOAD_SECOND_ARGUMENT, *single, *by_group])


def _about_modes(column: int) -> list[Instruction]:
    """Nothing gets the setuid bit."""
    program: list[Instruction] = []
    for numbers, flags, mode in OPENING:
        is_created = [flags, (JUMP_IF_ANY_BIT, 1, 0, CREATES), ALLOW]
        program += _judge(numbers[column], [*is_created, mode, *_refused_if_any(SETUID_AND_SETGID)])
    for numbers, mode in CREATING:
        program += _judge(numbers[column], [mode, *_refused_if_any(SETUID_AND_SETGID)])
    for numbers, mode in CHANGING_MODES:
        program += _judge(numbers[column], [mode, *_refused_if_any(SETUID)])
    return [*program, *_judge(OPENAT2[column], [UNKNOWN])]


def _about_owners(column: int, owner: int) -> list[Instruction]:
    program: list[Instruction] = []
    for numbers, argument in CHANGING_OWNERS:
        program += _judge(numbers[column], [argument, *_one_of((SAME_OWNER, owner), ALLOW), REFUSE])
    for numbers in CHANGING_ATTRIBUTES:
        program += _judge(numbers[column], [UNSUPPORTED])
    return program


def _about_priorities(column: int) -> list[Instruction]:
    program: list[Instruction] = []
    for numbers, process in CHANGING_PRIORITIES:
        is_itself = [LOAD_SECOND_ARGUMENT, (JUMP_IF_EQUAL, 1, 0, ITSELF), REFUSE]
        program += _judge(numbers[column], [*is_itself, LOAD_FIRST_ARGUMENT, *_one_of((process,), ALLOW), REFUSE])
    for numbers in SCHEDULING:
        program += _judge(numbers[column], [LOAD_FIRST_ARGUMENT, *_one_of((ITSELF,), ALLOW), REFUSE])
    return program


def _refused_if_any(bits: int) -> list[Instruction]:
    return [(JUMP_IF_ANY_BIT, 0, 1, bits), REFUSE, ALLOW]


def _judge(number: int | None, body: Sequence[Instruction]) -> list[Instruction]:
    """Run `body`, which must return, for this system call; others jump over it."""
    return [] if number is None else [(JUMP_IF_EQUAL, 0, len(body), number), *body]


def _one_of(values: Sequence[int], verdict: Instruction) -> list[Instruction]:
    return [instruction for value in values for instruction in ((JUMP_IF_EQUAL, 0, 1, value), verdict)]
