"""How 32-bit programs are run here. Some kernels refuse them ("Exec format error"): tests/run finds out and names in
NARROW_RUNNER what runs them then, qemu-i386. Empty: the kernel does."""
import os

RUNNER = os.environ.get("NARROW_RUNNER", "").split()


def narrow_command(program, *arguments):
    """The words that run a 32-bit program."""
    return [*RUNNER, str(program), *arguments]
