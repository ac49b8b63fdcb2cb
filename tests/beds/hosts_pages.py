#!/usr/bin/env python3
"""The commands that the pages of hboot, lamd and lamtree print, which boot modules type: each starts its node when it is
typed in place of what lamboot's module says, with the address, port and numbers that it was given. Runs inside the bed:

    tests/beds/hosts 8 --sshd -- hosts_pages.py BUILD PROCESS-SCHEMA

lamboot's remote shell is this script: hosts_pages.py --type PAGE HOST COMMAND. Prints TAP."""
import os
import pathlib
import re
import shlex
import shutil
import sys

sys.dont_write_bytecode = True
from hosts_programs import FOLDER, Done, daemons, install, write_schema  # noqa: E402
from tap import check, finish  # noqa: E402

PAGES = pathlib.Path(__file__).resolve().parents[2] / "deploy/man/man1"
HOSTS = os.environ["HOSTS_NAMES"].split()
# Hosts, boot algorithm, and what a command has in whose place the page's is typed.
BOOTS = {"hboot": (2, "linear", "hboot"), "lamd": (2, "linear", "hboot"), "lamtree": (8, "tree", "hboot lamtree")}
GIVEN = {"-H": r"-H 10\.0\.0\.1\b", "-P": r"-P 7000\b", "-n": r"-n \d+\b", "-o": r"-o 0\b"}  # with the pages' numbers
TYPED = FOLDER / "typed"


def command_of(page):
    """The only one that begins what boots."""
    text = (PAGES / f"{page}.1").read_text(encoding="utf-8").replace(r"\-", "-").replace(r"\(aq", "'")
    found = [line for example in re.findall(r"^\.EX\n(.*?)^\.EE$", text, re.S | re.M) for line in example.splitlines()
             if line.endswith(" < key")]
    assert len(found) == 1, (page, found)
    return found[0]


def type_command(page, host, command):
    """On the host, or here if the page says ssh; standard input is the key."""
    if BOOTS[page][2] not in command:
        os.execvp("ssh", ["ssh", host, command])
    typed = command_of(page).replace("inky", host)
    for option, printed in GIVEN.items():
        if said := re.search(rf"{option} '?([\w.]+)", command):
            typed = re.sub(printed, f"{option} {said[1]}", typed)
    with open(TYPED, "a", encoding="utf-8") as log:
        log.write(f"{host}: {typed}\n")
    here = FOLDER / f"key-{host}"
    here.mkdir(mode=0o700)
    (here / "key").touch(mode=0o600)
    (here / "key").write_bytes(sys.stdin.buffer.read())
    # Where it is installed, and the schema with it.
    schema = f"-c {FOLDER}/lam-conf.lamd"
    typed = typed.replace("-c lam-conf.lamd", schema).replace("lamtree ", f"lamtree {schema} ")
    typed = typed.replace("hboot ", f"{FOLDER}/bin/hboot ")
    typed = f"cd {here} && PATH={FOLDER}/libexec/openlapi:$PATH && {typed}"
    words = ["bash", "-c", typed] if "ssh " in typed else ["ssh", host, f"bash -c {shlex.quote(typed)}"]
    os.execvp(words[0], words)


def test_page(page):
    count, algorithm, _ = BOOTS[page]
    TYPED.write_text("")
    for old in FOLDER.glob("key-*"):
        shutil.rmtree(old)
    done = Done(["lamboot", "-c", str(FOLDER / "lam-conf.lamd"), write_schema(HOSTS[:count])], LAM_MPI_SSI_boot="rsh",
                LAM_MPI_SSI_boot_rsh_fast="1", LAM_MPI_SSI_boot_base_algorithm=algorithm,
                LAM_MPI_SSI_boot_rsh_agent=f"{sys.executable} {os.path.abspath(__file__)} --type {page}")
    typed, nodes = TYPED.read_text(), Done(["lamnodes"]).out.splitlines()
    check(f"what {page}.1 has boots a node", done.status == 0 and typed and len(nodes) == count, f"{typed}{done}{nodes}")
    halted = Done(["lamhalt"])
    check(f"which lamhalt ends ({page}.1)", halted.status == 0 and not daemons(HOSTS[:count]), f"{halted}{daemons(HOSTS)}")
    Done(["lamwipe", write_schema(HOSTS[:count])])


def main():
    install(sys.argv[1])
    shutil.copy(sys.argv[2], FOLDER / "lam-conf.lamd")
    for page in BOOTS:
        test_page(page)
    return finish()


if __name__ == "__main__":
    sys.exit(type_command(*sys.argv[2:4], sys.argv[-1]) if sys.argv[1] == "--type" else main())
