#!/usr/bin/env python3
"""Boot modules of others over several hosts: one that was written from the specification alone, and one that is written
as LAM's are, built against the installed headers, boot real daemons over real ssh. Runs inside the bed:

    tests/beds/hosts 4 --sshd -- hosts_modules.py BUILD PROCESS-SCHEMA

With LAM_TREE=FOLDER, where LAM/MPI 7.1.4 lies, the same is done with LAM's own: the second module built against LAM's
headers, FOLDER/root/usr/include/lam as unpacked from Debian's lam4-dev, and LAM's module rsh, from
FOLDER/lam-7.1.4/share/ssi/boot/rsh/src, built against ours and LAM's.

Prints TAP."""
import base64
import os
import pathlib
import shutil
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "system"))
from hosts_programs import FOLDER, Done, daemons, install, write_schema  # noqa: E402
from installed_boot_service import SOURCES, InstalledBootService, run  # noqa: E402
from tap import check, finish  # noqa: E402

BUILD, SCHEMA = pathlib.Path(sys.argv[1]), os.path.abspath(sys.argv[2])
HOSTS = os.environ["HOSTS_NAMES"].split()
MODULE = {"LAM_MPI_SSI_boot": "spec", "LAM_MPI_SSI_base_module_path": str(FOLDER / "modules")}
# Keeps what an agent is given, where all hosts see it, and then is ssh.
AGENT = f"""#!/usr/bin/env python3
import os, sys, tempfile
given = sys.stdin.buffer.read()
with tempfile.NamedTemporaryFile(dir="{FOLDER}/given", delete=False) as file:
    file.write(given)
words = ["ssh", "-x", "-o", "BatchMode=yes", *sys.argv[1:]]
reader, writer = os.pipe()
os.write(writer, given)
os.close(writer)
os.dup2(reader, 0)
os.execvp("ssh", words)
"""
# Each process's command line and environment, as far as root sees them.
PROCESSES = "for each in /proc/[0-9]*; do cat $each/cmdline $each/environ 2>/dev/null; done | base64 -w0"


LAM = os.environ.get("LAM_TREE")
IN_LAM = {"LAM_MPI_SSI_base_module_path": str(FOLDER / "lam"), "LAMHELPDIR": str(FOLDER / "etc")}
LAM_HEADERS = f"{LAM}/root/usr/include/lam"
LAM_RSH = pathlib.Path(f"{LAM}/lam-7.1.4/share/ssi/boot/rsh/src")
# What LAM's configure would find out for its module.
LAM_RSH_CONFIG = "".join(f"#define LAM_SSI_BOOT_RSH_{name} {value}\n" for name, value in (
    ("RSH", '"ssh -x"'), ("DEFAULT", 0), ("MAJOR_VERSION", 7), ("MINOR_VERSION", 1), ("RELEASE_VERSION", 4),
    ("VERSION", '"7.1.4"')))


def nodes():
    return [line.split("\t")[1] for line in Done(["lamnodes"]).out.splitlines()]


def lamboot(*options, hosts=HOSTS, **variables):
    return Done(["lamboot", *options, "-c", SCHEMA, write_schema(hosts)], **MODULE, **variables)


def check_universe(what, done):
    listed, halted = nodes(), Done(["lamhalt"])
    check(what, done.status == 0 and halted.status == 0
          and listed == ["host0:2:origin,this_node", *(f"{host}:2:" for host in HOSTS[1:])], (done, listed, halted))


def test_algorithms():
    for algorithm in ("linear", "windowed", "tree", "thread"):
        done = lamboot("-v", SPEC_ALGORITHM=algorithm)
        seen = {host: Done(["ssh", host, f"{FOLDER}/bin/lamnodes"]).out.count(":2:") for host in HOSTS}
        check(f"tools find the daemon of each host, {algorithm}", set(seen.values()) == {len(HOSTS)}, seen)
        check_universe(f"a module from the specification, {algorithm}", done)
    done = lamboot(hosts=HOSTS[:1])
    check("and this host alone", done.status == 0 and nodes() == ["host0:2:origin,this_node"], (done, nodes()))
    Done(["lamhalt"])
    check("nothing is left on any host", not daemons(HOSTS), daemons(HOSTS))


def test_verbose_and_debug():
    """A daemon that kept the agent's outputs would keep the agent, and this the boot."""
    done = lamboot("-d", "-v")
    check("the boot SSI tells what it does", "boot module spec" in done.err, done)
    check_universe("-d and -v reach daemons that an agent starts", done)


def test_words_from_below_helpers():
    """More than a pipe takes, from each host that a helper boots and from those that lamboot does."""
    count = 4000
    schema = pathlib.Path(write_schema(HOSTS))
    schema.write_text("".join(f"{line} says={count}\n" for line in schema.read_text().splitlines()))
    for algorithm, degree in (("tree", "1"), ("thread", "2")):
        done = Done(["lamboot", "-c", SCHEMA, str(schema)], SPEC_ALGORITHM=algorithm,
                    LAM_MPI_SSI_boot_base_tree_degree=degree, LAM_MPI_SSI_boot_base_thread_count="2", **MODULE)
        said = [line.partition("spec: ")[2] for line in done.err.splitlines()]
        for host in HOSTS:
            lines = [line for line in said if line.startswith(f"{host}: ")]
            check(f"what a module says of {host} reaches the user, {algorithm}", lines == [
                f"{host}: line {n} of {count}, as long as lines are" for n in range(1, count + 1)],
                (len(lines), lines[:2], lines[-2:]))
        helpers = {line.split(": ")[1] for line in done.err.splitlines() if line.startswith("lamboot: host")}
        check(f"some of it through a helper, {algorithm}", "host1" in helpers, helpers)
        check_universe(f"and all are booted, {algorithm}", done)


def test_two_universes():
    """Suffixes come from the environment, which other hosts do not have."""
    done = [lamboot(LAM_MPI_SESSION_SUFFIX=suffix) for suffix in ("one", "two")]
    there = [Done(["ssh", HOSTS[1], f"{FOLDER}/bin/lamnodes -sessionsuffix {suffix}"]) for suffix in ("one", "two")]
    check("two universes on the same hosts", [each.status for each in done + there] == 4 * [0], (done, there))
    halted = [Done(["lamhalt"], LAM_MPI_SESSION_SUFFIX=suffix) for suffix in ("one", "two")]
    check("and both are ended", [each.status for each in halted] == [0, 0] and not daemons(HOSTS),
          (halted, daemons(HOSTS)))


def test_secrecy():
    (FOLDER / "given").mkdir()
    agent = FOLDER / "agent"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    done = lamboot(SPEC_AGENT=str(agent))
    keys = {file.read_bytes() for file in (FOLDER / "given").iterdir()}
    check("all agents are given the same 32 bytes", len(keys) == 1 and {len(key) for key in keys} == {32}, (keys, done))
    key = keys.pop()
    shown = [Done(["ssh", host, PROCESSES]).out for host in HOSTS]
    seen = b"".join(map(base64.b64decode, shown)).lower()
    forms = [key.lower(), key.hex().encode(), base64.b64encode(key).lower()]
    check("no process shows them in its arguments or environment", b"lamd\0" in seen
          and not any(form in seen for form in forms), key)
    check_universe("and the daemons have them", done)


def test_growth_and_ends():
    done = lamboot(hosts=HOSTS[:2])
    grown = Done(["lamgrow", "-c", SCHEMA, "-prefix", str(FOLDER), "-cpu", "2", HOSTS[2]], **MODULE)
    check("a host joins", done.status == 0 and grown.status == 0 and nodes()[2:] == ["host2:2:"],
          (done, grown, nodes()))
    tried = Done(["recon", "-v", write_schema(HOSTS)], **MODULE)
    check("recon", tried.status == 0, tried)
    wiped = Done(["lamwipe", "-v", write_schema(HOSTS)], **MODULE)
    check("lamwipe", wiped.status == 0 and not daemons(HOSTS), (wiped, daemons(HOSTS)))


def test_missing_key():
    done = lamboot(SPEC_AGENT="ssh -n")
    check("an agent that keeps the key back is named", done.status != 0 and "ssh -n" in done.err
          and "the key has 0 bytes" in done.err, done)
    check("and nothing is left", not daemons(HOSTS), daemons(HOSTS))


def check_lam_module(name, what, **variables):
    """Its life: each tool that boot modules are for."""
    given = {"LAM_MPI_SSI_boot": name, **IN_LAM, **variables}
    booted = Done(["lamboot", "-v", "-d", "-l", write_schema(HOSTS)], **given)
    check_universe(f"{what}: lamboot", booted)
    check(f"{what}: it is not a built-in one", f"boot module {name} ({FOLDER}/lam/" in booted.err, booted)
    booted = Done(["lamboot", "-c", SCHEMA, write_schema(HOSTS[:2])], **given)
    # On host1 the daemon of before is in the way, but for hboot's option -t.
    Done(["tkill"])
    again = Done(["lamboot", "-c", SCHEMA, write_schema(HOSTS[:2])], **given)
    grown = Done(["lamgrow", "-prefix", str(FOLDER), "-cpu", "2", HOSTS[2]], **given)
    check(f"{what}: lamgrow", [booted.status, again.status, grown.status] == [0, 0, 0] and nodes()[1:]
          == ["host1:2:", "host2:2:"], (booted, again, grown, nodes()))
    tried, wiped = Done(["recon", write_schema(HOSTS)], **given), Done(["lamwipe", "-v", write_schema(HOSTS)], **given)
    check(f"{what}: recon and lamwipe", (tried.status, wiped.status) == (0, 0) and not daemons(HOSTS), (tried, wiped))
    lost = Done(["lamboot", write_schema(HOSTS[1:])], **given)
    check(f"{what}: a message of the help file", lost.status != 0 and "none of the hosts in the boot schema "
          f"{FOLDER}/schema is this machine" in lost.err, lost)


def test_written_as_lams_are():
    check_lam_module("lamlike", "a module as LAM's")
    done = Done(["lamboot", "-v", write_schema(HOSTS)], LAM_MPI_SSI_boot="lamlike", LAM_MPI_SSI_boot_lamlike_tell="1",
                **IN_LAM)
    wanted = [f"lamlike: n3 host3 has 2 pairs, prefix {FOLDER}", "lamlike: n3 cpu=2", f"lamlike: n3 prefix={FOLDER}"]
    said = [line for line in done.err.splitlines() if " n3 " in line]
    check("it walks the pairs of the schema", said == wanted, done)
    check_universe("and boots", done)
    done = Done(["lamboot", "-v", write_schema(HOSTS)], LAM_MPI_SSI_boot="lamlike",
                LAM_MPI_SSI_boot_lamlike_agent="ssh -n", **IN_LAM)
    check("an agent that keeps the key back is named by the help file", done.status != 0 and "Not booted: n1"
          in done.err and "LAM_MPI_SSI_boot_rsh_no_n=1" in done.err, done)
    wiped = Done(["lamwipe", write_schema(HOSTS)], LAM_MPI_SSI_boot="rsh", LAM_MPI_SSI_boot_rsh_fast="1")
    check("nothing is left", wiped.status == 0 and not daemons(HOSTS), daemons(HOSTS))


def build_with_lam(name, sources, *options):
    run("cc", "-std=gnu17", "-w", "-shared", "-fPIC", *options, *sources, "-o",
        FOLDER / f"lam/lam_ssi_boot_{name}_module.so")


def test_lams_own(installed):
    if LAM is None:
        print("# LAM_TREE is not set: LAM's own module and headers are not tried", flush=True)
        return
    build_with_lam("lamlike", [SOURCES / "lam_module.c"], "-I", LAM_HEADERS)
    check_lam_module("lamlike", "built against LAM's headers")
    (FOLDER / "lam-ssi-boot-rsh-config.h").write_text(LAM_RSH_CONFIG)
    sources = sorted(LAM_RSH.glob("*.c"))
    for what, options in (("ours", installed.flags), ("LAM's", ["-I", LAM_HEADERS])):
        build_with_lam("rsh", sources, "-I", FOLDER, "-I", LAM_RSH, *options)
        check_lam_module("rsh", f"LAM's rsh built against {what}", LAM_MPI_SSI_boot_rsh_no_n="1")


def main():
    install(BUILD)
    installed = InstalledBootService(BUILD, FOLDER / "installed")
    (FOLDER / "etc/openlapi").mkdir(parents=True)
    shutil.copy(SCHEMA, FOLDER / "etc/openlapi")
    shutil.copy(pathlib.Path(SCHEMA).parent / "lam-helpfile", FOLDER / "etc")
    for folder in ("modules", "lam"):
        (FOLDER / folder).mkdir()
    installed.compile_module("spec", FOLDER / "modules", SOURCES / "spec_module.c")
    installed.compile_module("lamlike", FOLDER / "lam", SOURCES / "lam_module.c", options=["-D_GNU_SOURCE"])
    for test in (test_algorithms, test_verbose_and_debug, test_words_from_below_helpers, test_two_universes, test_secrecy, test_growth_and_ends,
                 test_missing_key, test_written_as_lams_are):
        test()
    test_lams_own(installed)
    return finish()


sys.exit(main())
