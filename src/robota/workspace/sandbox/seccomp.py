"""System calls that no command of a coding agent needs, refused by the kernel: a BPF program, built by hand."""

import platform
import struct
from typing import Final

LOAD_ARCHITECTURE: Final = (0x20, 0, 0, 4)
LOAD_NUMBER: Final = (0x20, 0, 0, 0)
ALLOW: Final = (0x06, 0, 0, 0x7FFF0000)
REFUSE: Final = (0x06, 0, 0, 0x00050000 | 1)  # EPERM, so that programs report it and do not crash
JUMP_IF_EQUAL: Final = 0x15
JUMP_IF_AT_LEAST: Final = 0x35
X32_BIT: Final = 0x40000000

ARCHITECTURES: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# Name → number on x86_64, on aarch64.
REFUSED_CALLS: Final[dict[str, tuple[int, int]]] = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsmount": (432, 432),
    "mount_setattr": (442, 442),
    "unshare": (272, 97),
    "setns": (308, 268),
    "kexec_load": (246, 104),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "userfaultfd": (323, 282),
}


def filter_program(machine: str | None = None) -> bytes | None:
    """The program for this machine, or None for one whose numbers we do not know."""
    machine = machine or platform.machine()
    if machine not in ARCHITECTURES:
        return None
    column = list(ARCHITECTURES).index(machine)
    numbers = sorted({call[column] for call in REFUSED_CALLS.values()})
    program = [LOAD_ARCHITECTURE, (JUMP_IF_EQUAL, 1, 0, ARCHITECTURES[machine]), REFUSE, LOAD_NUMBER]
    if machine == "x86_64":
        # The same calls under their 32-bit-pointer numbers.
        program += [(JUMP_IF_AT_LEAST, 0, 1, X32_BIT), REFUSE]
    for place, number in enumerate(numbers):
        program.append((JUMP_IF_EQUAL, len(numbers) - place, 0, number))
    program += [ALLOW, REFUSE]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
