#!/usr/bin/env python3
"""Who may take part in a job of another user, or hold it up by connections to its PMIx servers: nobody.

    control_security_test.py LAPIRUN INTRUDER TOOLS PROCESS-SCHEMA [unittest arguments]

Needs root, to be two ordinary users and to have a /run of its own, where it starts a munged.
"""
import contextlib
import fcntl
import os
import pathlib
import pwd
import re
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "beds"))
from host_namespaces import CLONE_NEWNS, call, make_mounts_private  # noqa: E402

LAPIRUN = INTRUDER = TOOLS = SCHEMA = None
OWNER, STRANGER = 65534, 65533
DEADLINE = 30  # seconds; only a hang reaches it
MUNGE = pathlib.Path("/run/munge")


def as_user(user, words):
    return ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups", *map(str, words)]


def eventually(condition):
    end = time.monotonic() + DEADLINE
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


@contextlib.contextmanager
def being(user):
    """Sockets that are made in it are this user's."""
    os.seteuid(user)
    try:
        yield
    finally:
        os.seteuid(0)


class Job:
    """Of two tasks of OWNER's that have joined, the first of which waits for the end of its standard input; and what it
    has in its environment."""

    def __init__(self, folder, lapirun, intruder, variables):
        self.folder = folder
        self.process = subprocess.Popen(
            as_user(OWNER, [lapirun, "-n", 2, "sh", "-c", f"env -0 >env.$PMIX_RANK; exec {intruder}"]),
            cwd=folder, text=True,
            env={"PATH": os.environ["PATH"], "TMPDIR": str(folder)} | variables,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        joined = [self.process.stdout.readline() for _ in range(2)]
        assert joined == ["joined\n"] * 2, joined
        self.task = dict(entry.split("=", 1) for entry in (folder / "env.0").read_text().split("\0") if entry)

    def end(self):
        """Its status, and what it says besides."""
        output, _ = self.process.communicate(timeout=DEADLINE)
        return self.process.returncode, output


class SecurityTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="security_test."))
        self.addCleanup(shutil.rmtree, self.folder)
        os.chown(self.folder, OWNER, OWNER)
        os.chmod(self.folder, 0o711)
        self.lapirun, self.intruder = (shutil.copy(program, self.folder) for program in (LAPIRUN, INTRUDER))

        self.environment = {"PATH": f"{TOOLS}:{os.environ['PATH']}", "TMPDIR": str(self.folder),
                            "LAM_MPI_SSI_boot": "local"}

    def run_as_owner(self, *words):
        return subprocess.run(as_user(OWNER, words), env=self.environment, cwd=self.folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=DEADLINE, check=False)

    def boot(self):
        (self.folder / "hosts").write_text("localhost cpu=2\n")
        booted = self.run_as_owner("lamboot", "-H", "-c", SCHEMA, "hosts")
        self.assertEqual(booted.returncode, 0, booted)
        self.addCleanup(self.run_as_owner, "lamhalt", "-H")

    def start_job(self, **variables):
        for old in self.folder.glob("env.*"):
            old.unlink()
        job = Job(self.folder, self.lapirun, self.intruder, variables)
        self.addCleanup(job.process.kill)
        return job

    def start_munged(self):
        MUNGE.mkdir()
        self.addCleanup(shutil.rmtree, MUNGE)
        (MUNGE / "key").write_bytes(os.urandom(128))
        (MUNGE / "key").chmod(0o400)
        munged = subprocess.Popen(
            ["munged", "--foreground", "--force", f"--key-file={MUNGE}/key", f"--socket={MUNGE}/munge.socket.2",
             f"--pid-file={MUNGE}/munged.pid", f"--log-file={MUNGE}/log", f"--seed-file={MUNGE}/seed"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(munged.wait)
        self.addCleanup(munged.terminate)
        self.assertTrue(eventually((MUNGE / "munge.socket.2").exists))
        return munged

    def intrude(self, environment, claims=OWNER, user=STRANGER):
        """Whether a process of this user gets in."""
        done = subprocess.run(as_user(user, [self.intruder]), env=environment | {"INTRUDER_CLAIMS": str(claims)}, cwd="/",
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE, check=False)
        return done.returncode == 0

    def expect_good_end(self, job):
        status, output = job.end()
        self.assertEqual((status, output), (0, ""))

    def test_a_stranger_cannot_read_what_names_a_job(self):
        job = self.start_job()
        self.assertEqual(job.task["PMIX_SECURITY_MODE"], "native")
        self.assertRegex(job.task["PMIX_NAMESPACE"], r"^lapirun-[0-9a-f]{32}$")
        folders = list(self.folder.glob("lapirun-*"))
        self.assertEqual(len(folders), 1)
        for path in [folders[0], *folders[0].rglob("*")]:
            self.assertEqual(path.lstat().st_mode & 0o077, 0, path)
            self.assertEqual(path.stat().st_uid, OWNER)
        self.assertTrue(stat.S_ISDIR(folders[0].stat().st_mode))
        for secret in (folders[0], f"/proc/{job.process.pid}/environ"):
            done = subprocess.run(as_user(STRANGER, ["sh", "-c", f"ls {secret} && cat {secret}"]), capture_output=True,
                                  text=True, check=False)
            self.assertIn("Permission denied", done.stderr)
        self.expect_good_end(job)

    def test_a_stranger_who_does_not_know_the_name_is_refused(self):
        """With all else: the port, which everybody can see, and the names of variables and tasks."""
        job = self.start_job()
        self.assertFalse(self.intrude(job.task, claims=STRANGER), "an honest stranger")
        guesses = (f"lapirun-{0:032x}", job.task["PMIX_NAMESPACE"][:-1] + "x", "lapirun")
        for guess in guesses:
            self.assertFalse(self.intrude(job.task | {"PMIX_NAMESPACE": guess}), guess)
        self.assertFalse(self.intrude(job.task), "a liar with the environment of a task, whom native would let in")
        self.assertTrue(self.intrude(job.task, user=0), "root, whose connection is not closed, lying to native")
        self.expect_good_end(job)

    @unittest.skipUnless(shutil.which("munged"), "needs munge")
    def test_munge_is_used_where_it_runs(self):
        self.start_munged()
        job = self.start_job()
        self.assertEqual(job.task["PMIX_SECURITY_MODE"], "munge")
        self.assertFalse(self.intrude(job.task), "a liar with the environment of a task")
        self.assertFalse(self.intrude(job.task, user=0), "root, whose connection is not closed, lying")
        chooses = job.task | {"PMIX_SECURITY_MODE": "native", "PMIX_MCA_psec": "native", "PMIX_RANK": "1"}
        self.assertFalse(self.intrude(chooses), "a liar who chooses native")
        self.expect_good_end(job)

    @unittest.skipUnless(shutil.which("munged"), "needs munge")
    def test_the_user_may_choose_native(self):
        self.start_munged()
        job = self.start_job(PMIX_MCA_psec="native")
        self.assertEqual(job.task["PMIX_SECURITY_MODE"], "native")
        self.expect_good_end(job)

    @unittest.skipUnless(shutil.which("munged"), "needs munge")
    def test_a_socket_that_munged_has_left_is_no_munged(self):
        munged = self.start_munged()
        munged.kill()
        munged.wait()
        with self.assertRaises(ConnectionRefusedError), socket.socket(socket.AF_UNIX) as left:
            left.connect(str(MUNGE / "munge.socket.2"))
        job = self.start_job()
        self.assertEqual(job.task["PMIX_SECURITY_MODE"], "native")
        self.expect_good_end(job)

    def hold_up(self, *options):
        """Connections of a stranger that say nothing are there before the first task's; the job's end."""
        gates = [self.folder / f"go.{task}" for task in range(2)]
        for gate in gates:
            os.mkfifo(gate)
            os.chown(gate, OWNER, OWNER)
        job = subprocess.Popen(
            as_user(OWNER, [self.lapirun, *options, "sh", "-c", 'echo "$PMIX_SERVER_URI41" >uri.$PMIX_RANK; '
                            f"read word <go.$PMIX_RANK; exec {self.intruder}"]),
            cwd=self.folder, env=self.environment, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
        self.addCleanup(job.kill)
        # These open when their tasks do.
        open_gates = [self.enterContext(open(gate, "w", encoding="ascii")) for gate in gates]
        for gate in gates:
            gate.unlink()
        host, port = re.search(r"tcp4://([0-9.]+):(\d+)", (self.folder / "uri.0").read_text()).groups()
        with being(STRANGER):
            strangers = [self.enterContext(socket.socket()) for _ in range(200)]
        for stranger in strangers:
            stranger.settimeout(DEADLINE)
            stranger.connect((host, int(port)))
        for gate in open_gates:
            gate.write("go\n")
            gate.flush()
        output, _ = job.communicate(timeout=DEADLINE)
        self.assertEqual((job.returncode, output), (0, "joined\n" * 2))
        self.assertEqual({stranger.recv(1) for stranger in strangers}, {b""})

    def test_idle_connections_of_a_stranger_hold_up_no_job(self):
        self.hold_up("--no-universe", "-n", 2)

    def test_idle_connections_of_a_stranger_hold_up_no_job_over_a_universe(self):
        self.boot()
        self.hold_up("C")

    @unittest.skipUnless(shutil.which("munged"), "needs munge")
    def test_munge_is_used_over_a_universe(self):
        self.start_munged()
        self.boot()
        done = self.run_as_owner(self.lapirun, "C", "sh", "-c", f"echo $PMIX_SECURITY_MODE; exec {self.intruder}")
        self.assertEqual(sorted(done.stdout.split()), ["joined", "joined", "munge", "munge"], done)

    def test_a_stranger_cannot_name_what_tkill_ends(self):
        """In folders with the names of the owner's sessions, which anybody can make where all have their sessions."""
        common, host = self.folder / "common", socket.gethostname()
        common.mkdir()
        common.chmod(0o1777)
        chosen = subprocess.Popen(as_user(OWNER, ["cat"]), stdin=subprocess.PIPE)
        self.addCleanup(chosen.communicate)

        def run(*words, user=OWNER):
            return subprocess.run(as_user(user, [TOOLS + "/" + words[0], *words[1:]]), env={"TMPDIR": str(common)}, cwd="/",
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE, check=False)

        def plant(folder):
            """Its files can be written and their locks be taken by anybody."""
            folder.mkdir()
            os.chown(folder, STRANGER, STRANGER)
            folder.chmod(0o777)
            os.mkfifo(folder / "lam-universe")
            file = self.enterContext(open(folder / "lam-killfile", "w", encoding="ascii"))
            for name in ("lam-universe", "lam-killfile"):
                (folder / name).chmod(0o666)
            file.write(f"{chosen.pid}\n")
            file.flush()
            fcntl.lockf(file, fcntl.LOCK_EX)

        owner = pwd.getpwuid(OWNER).pw_name
        plant(common / f"lam-{owner}@{host}-n7")
        for words in (["-v"], ["-universe", "word", "-n", "7"]):
            done = run("tkill", *words)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        plant(common / f"lam-{owner}@{host}")
        for name in ("tkill", "lamboot", "lamnodes", "lamhalt"):
            done = run(name)
            self.assertEqual((done.returncode, done.stdout), (1, ""), name)
            self.assertIn(f"{common}/lam-{owner}@{host} is not a folder of this user alone (mode 0700); remove it or "
                          "choose another with -sessionsuffix", done.stderr)
        self.assertIsNone(chosen.poll())


if __name__ == "__main__":
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        print("needs root and setpriv")
        sys.exit(77)
    call("unshare", CLONE_NEWNS)
    make_mounts_private()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755", "run", "/run"], check=True)
    LAPIRUN, INTRUDER, TOOLS, SCHEMA = sys.argv[1:5]
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]], verbosity=2)
