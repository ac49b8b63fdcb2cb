#!/usr/bin/env python3
"""The boot modules that start programs on other hosts, over real sshd's. Runs in a bed:

    tests/beds/hosts 6 --sshd -- boot_remote_test.py BUILD_FOLDER"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = pathlib.Path(sys.argv[1])
SOURCES = pathlib.Path(__file__).resolve().parent
ROOT = SOURCES.parent.parent
FOLDER = pathlib.Path(os.environ["HOSTS_FOLDER"])
*NAMES, DEAF = os.environ["HOSTS_NAMES"].split()
ACCOUNT = "booter"


def write(name, text, mode=0o644):
    """A file that all hosts see."""
    path = FOLDER / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


class BootRemoteTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = FOLDER
        cls.names = NAMES
        cls.install()
        write("conf", "lamd $inet_topo $debug $session_prefix $session_suffix\n")
        subprocess.run(["ssh", DEAF, "kill $(cat /run/sshd.pid)"], check=True, timeout=25)

    @classmethod
    def install(cls):
        """A prefix as on a host, where nothing depends on the caller's environment."""
        for name in ("real", "prefix/bin", "lib", "state"):
            (cls.folder / name).mkdir(parents=True)
        os.chmod(cls.folder / "state", 0o1777)
        for library in (BUILD / "control/boot").glob("liblamssi.so*"):
            if not library.is_dir():
                shutil.copy(library, cls.folder / "lib", follow_symlinks=False)
        lines = f"#!/bin/sh\nLD_LIBRARY_PATH={cls.folder}/lib exec {cls.folder}/real/"
        for name in ("hboot", "lamtree"):
            shutil.copy(BUILD / "control/boot" / name, cls.folder / "real")
            write(f"prefix/bin/{name}", lines + name + ' "$@"\n', 0o755)
        for name, source in (("tool", "boot_tool.c"), ("daemon", "boot_daemon.c")):
            subprocess.run(["cc", "-I", ROOT / "control/boot/include", SOURCES / "boot_module" / source, "-o",
                            cls.folder / "real" / name, "-L", cls.folder / "lib", "-llamssi"], check=True, timeout=25)
        for place in ("real", "prefix/bin"):
            write(f"{place}/lamd", f'#!/bin/sh\ncd {cls.folder}/state\n'
                  f'exec 3<&0\nexport LD_LIBRARY_PATH={cls.folder}/lib\n'
                  f'{cls.folder}/real/daemon "$@" <&3 2> /dev/null &\n', 0o755)
        write("prefix/bin/tkill", f'#!/bin/sh\necho "$(hostname) $*" >> {cls.folder}/state/tkill\n', 0o755)

    def setUp(self):
        for file in (self.folder / "state").iterdir():
            file.unlink()
        write("state/tkill", "", 0o666)

    def boot(self, schema, *words, user="root", prefix=True, **settings):
        """Runs the tool on host0."""
        path = write("schema", schema)
        environment = {"PATH": (f"{self.folder}/prefix/bin:" if prefix else "") + "/usr/bin:/bin", "SHELL": "/bin/bash",
                       "HOME": f"{self.folder}/home", "LD_LIBRARY_PATH": f"{self.folder}/lib",
                       "LAM_MPI_SSI_base_module_path": "/no/such/folder", **settings}
        words = [f"{self.folder}/real/tool", *words, "-c", f"{self.folder}/conf", path]
        if user != "root":
            words = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups", *words]
        # Files, not pipes: a daemon that is left behind keeps its outputs until its host ends.
        with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
            done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, check=False,
                                  env=environment, timeout=25)
            for file in (output, errors):
                file.seek(0)
            return subprocess.CompletedProcess(words, done.returncode, output.read(), errors.read())

    def schema(self, names=None, **pairs):
        pairs.setdefault("prefix", f"{self.folder}/prefix")
        return "".join(" ".join([name] + [f"{key}={value}" for key, value in pairs.items()]) + "\n"
                       for name in names or self.names)

    def universes(self, count):
        """What the daemons were told; they write it after the tool has ended."""
        deadline = time.monotonic() + 30
        files = [self.folder / "state" / f"universe.{node}.new" for node in range(count)]
        while time.monotonic() < deadline and not all(file.exists() and file.read_text().count("\n") == count
                                                      for file in files):
            time.sleep(0.02)
        return [file.read_text() for file in files]

    def expect_booted(self, done, names=None):
        names = names or self.names
        self.assertEqual((done.stderr, done.returncode), ("", 0))
        self.assertIn("tool selected rsh, get_nodeid yes\n", done.stdout)
        self.assertIn(f"tool status 0 started {len(names)}: {' '.join(names)}\n", done.stdout)
        universe = "".join(f"n{number} {name} 1 cpus port {7000 + number}\n" for number, name in enumerate(names))
        self.assertEqual(self.universes(len(names)), [universe] * len(names))

    def test_hboot_has_nothing_to_load(self):
        """It runs on every host of a boot: loading libcrypto and libstdc++ would be two thirds of its time."""
        needs = subprocess.run(["ldd", BUILD / "control/boot/hboot"], capture_output=True, text=True, check=True).stdout
        if "san.so" not in needs:
            self.assertNotRegex(needs, r"libcrypto|libstdc\+\+|liblamssi")

    def test_each_algorithm_boots_all_hosts(self):
        for algorithm, settings in (("linear", {}), ("linear_windowed", {}), ("thread", {}), ("tree", {}),
                                    ("tree", {"LAM_MPI_SSI_boot_base_tree_degree": "1"}),
                                    ("thread", {"LAM_MPI_SSI_boot_base_thread_count": "2"})):
            with self.subTest(algorithm=algorithm, **settings):
                self.setUp()
                self.expect_booted(self.boot(self.schema(), LAM_MPI_SSI_boot_base_algorithm=algorithm, **settings))
        done = self.boot(self.schema(), LAM_MPI_SSI_boot_base_algorithm="fastest")
        self.assertEqual(done.returncode, 1)
        self.assertIn("tool: LAM_MPI_SSI_boot_base_algorithm is \"fastest\"; allowed: linear, linear_windowed, thread, tree",
                      done.stderr)

    def test_an_ordinary_user_whose_profile_sets_the_path(self):
        profile = write("home/.profile", f"cat > /dev/null\nPATH={self.folder}/prefix/bin:$PATH\n")
        self.addCleanup(profile.unlink)
        schema = "".join(name + "\n" for name in self.names)
        self.expect_booted(self.boot(schema, user=ACCOUNT))
        done = self.boot(schema, user=ACCOUNT, LAM_MPI_SSI_boot_rsh_no_profile="1")
        self.assertIn("tool: node n1 (host1): the command was not found there: ", done.stderr)
        # The shell there is taken for the one here, bash, which reads no .profile.
        done = self.boot(schema, user=ACCOUNT, LAM_MPI_SSI_boot_rsh_fast="1")
        self.assertIn("tool: node n1 (host1): the command was not found there: ", done.stderr)
        done = self.boot(schema, user=ACCOUNT, LAM_MPI_SSI_boot_rsh_fast="1", SHELL="/bin/sh")
        self.assertEqual((done.stderr, done.returncode), ("", 0))

    def test_users_of_the_schema_and_of_the_parameter(self):
        write("prefix/bin/tkill", f'#!/bin/sh\necho "$(hostname) $(id -un)" >> {self.folder}/state/tkill\n',
                         0o755)
        self.addCleanup(write, "prefix/bin/tkill",
                        f'#!/bin/sh\necho "$(hostname) $*" >> {self.folder}/state/tkill\n', 0o755)
        schema = self.schema(["host0", "host1"]) + self.schema(["host2"], user="root")
        done = self.boot(schema, "recon", LAM_MPI_SSI_boot_rsh_username=ACCOUNT)
        self.assertEqual((done.stderr, done.returncode), ("", 0))
        self.assertEqual(sorted((self.folder / "state/tkill").read_text().splitlines()),
                         ["host0 root", f"host1 {ACCOUNT}", "host2 root"])

    def test_recon_and_wipe_run_tkill_everywhere(self):
        for word, options in (("recon", "-N"), ("wipe", "")):
            with self.subTest(word=word):
                self.setUp()
                done = self.boot(self.schema(), word)
                self.assertEqual((done.stderr, done.returncode), ("", 0))
                self.assertIn(f"tool status 0 started {len(NAMES)}: ", done.stdout)
                self.assertEqual(sorted((self.folder / "state/tkill").read_text().splitlines()),
                                 [f"{name} {options}" for name in self.names])

    def test_each_bad_host_is_named_with_its_reason_and_command(self):
        write("locked/bin/hboot", "#!/bin/sh\n", 0o644)
        write("empty/bin/hboot", f'#!/bin/sh\nLD_LIBRARY_PATH={self.folder}/lib exec '
                         f'{self.folder}/empty/real/hboot "$@"\n', 0o755)
        (self.folder / "empty/real").mkdir(exist_ok=True)
        shutil.copy(BUILD / "control/boot/hboot", self.folder / "empty/real")
        schema = (self.schema(["host0", DEAF, "nobody"]) + self.schema(["host1"], prefix="/nowhere")
                  + self.schema(["host2"], prefix=f"{self.folder}/locked") + self.schema(["host3"], user="stranger")
                  + self.schema(["host4"], prefix=f"{self.folder}/empty"))
        done = self.boot(schema, LAM_MPI_SSI_boot_rsh_agent="ssh -o BatchMode=yes -o ConnectTimeout=5")
        self.assertEqual(done.returncode, 1)
        self.assertIn("tool status -1 started 1: host0\n", done.stdout)
        lines = sorted(done.stderr.splitlines())
        reasons = {
            1: r"\(host5\): refuses connections: ssh: connect to host host5 port 22: Connection refused "
               r"\(ssh .* host5 .*\)",
            2: r"\(nobody\): cannot be reached: ssh: connect to host nobody port 22: .* \(ssh .*\)",
            3: r"\(host1\): the command was not found there: .*/nowhere/bin/hboot.* \(ssh .*\)",
            4: r"\(host2\): the command cannot be executed there: .*Permission denied \(ssh .*\)",
            5: r"\(host3\): does not let this user log in: .*Permission denied .* \(ssh .*-l stranger.*\)",
            6: r"\(host4\): the command ended with status 1: hboot: lamd cannot be started: No such file or directory "
               r"\(ssh .*\)",
        }
        self.assertEqual(len(lines), len(reasons), done.stderr)
        for line, (node, reason) in zip(lines, reasons.items()):
            self.assertTrue(re.fullmatch(rf"tool: node n{node} {reason}", line), line)

    def test_helpers_that_cannot_start_and_hosts_below_helpers_that_fail(self):
        """The chain host1, host2, host5, host3: host1 and host2 have helpers; that on host5 cannot start, its node host3 is
        adopted, and what host2 says about host5 reaches the user."""
        schema = self.schema(["host0", "host1", "host2", DEAF, "host3"])
        done = self.boot(schema, LAM_MPI_SSI_boot_base_algorithm="tree", LAM_MPI_SSI_boot_base_tree_degree="1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("tool status -1 started 4: host0 host1 host2 host3\n", done.stdout)
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertIn("tool: node n3 (host5): refuses connections: ", lines[0])

    def test_a_helper_whose_thread_cannot_be_started(self):
        """Its nodes are reported as failed, with the reason, and the others as started."""
        write("narrow/bin/hboot", "#!/bin/sh\n"
              "if [ $1 = lamtree ]; then ulimit -s 2000000; ulimit -v 1000000; fi\n"
              f'exec {self.folder}/prefix/bin/hboot "$@"\n', 0o755)
        schema = (self.schema(["host0"]) + self.schema(["host1"], prefix=f"{self.folder}/narrow")
                  + self.schema(["host2", "host3"]))
        done = self.boot(schema, LAM_MPI_SSI_boot_base_algorithm="tree", LAM_MPI_SSI_boot_base_tree_degree="1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("tool status -1 started 1: host0\n", done.stdout)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn("a helper of the tree algorithm boots none of its nodes, as its thread cannot be started: "
                      "Resource temporarily unavailable", done.stderr)
        self.assertIn("(memory of a process: at most 1000000 kB, ulimit -v)", done.stderr)

    def test_recon_and_wipe_through_helpers(self):
        for word in ("recon", "wipe"):
            self.setUp()
            done = self.boot(self.schema(), word, LAM_MPI_SSI_boot_base_algorithm="tree")
            self.assertEqual((done.stderr, done.returncode), ("", 0))
            self.assertEqual(sorted(line.split()[0] for line in
                                    (self.folder / "state/tkill").read_text().splitlines()), self.names)

    def test_standard_error_is_a_failure_unless_it_is_to_be_ignored(self):
        profile = write("home/.profile", "echo quota exceeded >&2\n")
        self.addCleanup(profile.unlink)
        schema = self.schema(["host0"]) + self.schema(["host1"], user=ACCOUNT)
        done = self.boot(schema)
        self.assertIn("tool: node n1 (host1): the command, or a file that the shell there reads, wrote to standard error",
                      done.stderr)
        self.assertIn(": quota exceeded (ssh ", done.stderr)
        # That daemon runs; its universe never comes.
        self.setUp()
        self.expect_booted(self.boot(schema, LAM_MPI_SSI_boot_rsh_ignore_stderr="1"), ["host0", "host1"])

    def test_a_host_that_hangs_after_login_is_given_up(self):
        write("slow/bin/hboot", "#!/bin/sh\nexec sleep 1000\n", 0o755)
        schema = self.schema(["host0", "host1"]) + self.schema(["host2"], prefix=f"{self.folder}/slow")
        done = self.boot(schema, LAM_MPI_SSI_boot_rsh_time="3")
        self.assertIn("tool status -1 started 2: host0 host1\n", done.stdout)
        self.assertIn("tool: node n2 (host2): was given up after 3 s (ssh ", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
