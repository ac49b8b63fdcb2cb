"""LAM/MPI 7.1.4 as Debian has it, unpacked and not installed, run as an ordinary user: LAM refuses root, and its tools
have the names of ours."""
import os
import pathlib
import pwd
import shlex
import shutil
import subprocess
import tempfile

PACKAGES = ["lam-runtime", "lam4-dev", "liblam4", "libltdl7", "libltdl-dev"]
USER = pwd.getpwnam("nobody")
SECONDS = 60  # that one program may take
# LAM's MPI_Init fails at some lengths of the environment, whatever the modules, of which it has opened none by then. It
# says so, and is tried with another length.
FAILS_BY_ITSELF = "some error has occurred during MPI_INIT"
LENGTHS = range(1, 64, 9)


def finished(*command, **options):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False,
                          **options)


def output_of(done):
    """Raises if it has failed."""
    if done.returncode != 0:
        raise RuntimeError(f"{shlex.join(map(str, done.args))}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def run(*command, **options):
    """What it prints; raises when it fails."""
    return output_of(finished(*command, **options))


class UnpackedLam:
    """Gone at the end of its with block, with its daemon."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self._folder.name)
        self.folder.chmod(0o755)
        run("apt-get", "download", *PACKAGES, cwd=self.folder)
        for package in self.folder.glob("*.deb"):
            run("dpkg", "-x", package, "root", cwd=self.folder)
        self.tree = self.folder / "root/usr"
        self.libraries = next(self.tree.rglob("liblam.so.4")).parent
        # Where LAMHOME says, not in /etc, and there under both names.
        settings = self.tree / "etc"
        settings.mkdir()
        for file in (self.folder / "root/etc/lam").iterdir():
            shutil.copy(file, settings / file.name)
            shutil.copy(file, settings / ("lam-" + file.name))
        self.home = self.folder / "home"
        self.home.mkdir()
        (self.home / "hosts").write_text("localhost cpu=4\n")
        if os.geteuid() == 0:
            os.chown(self.home, USER.pw_uid, USER.pw_gid)

    def __enter__(self):
        # It leaves a daemon behind that must not keep our pipes: its words go to a file.
        said = self.folder / "lamboot.log"
        with open(said, "w", encoding="utf-8") as log:
            done = subprocess.run(self.command("lamboot", self.home / "hosts"), stdin=subprocess.DEVNULL, stdout=log,
                                  stderr=log, timeout=SECONDS, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"lamboot: status {done.returncode}\n{said.read_text()}")
        return self

    def __exit__(self, *_):
        subprocess.run(self.command("lamhalt"), stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False)
        self._folder.cleanup()

    def command(self, *words):
        """As the ordinary user, with an environment of its own."""
        other_user = ["setpriv", "--reuid", USER.pw_uid, "--regid", USER.pw_gid, "--clear-groups"]
        variables = {"LAMHOME": self.tree, "LD_LIBRARY_PATH": self.libraries, "HOME": self.home, "TMPDIR": self.home,
                     "LAM_MPI_SESSION_SUFFIX": "unpacked", "SHELL": "/bin/sh", "USER": USER.pw_name,
                     "PATH": f"{self.tree}/bin:/usr/bin:/bin"}
        return [str(word) for word in (*(other_user if os.geteuid() == 0 else []), "env", "-i", "-C", self.home,
                                       *(f"{name}={value}" for name, value in variables.items()), *words)]

    def mpirun(self, processes, program, **parameters):
        """What the program prints. LAM's parameters are rpi, base_module_path and so on."""
        given = [word for name, value in parameters.items() for word in ("-ssi", name, value)]
        return output_of(self.started(["-np", processes, *given, program]))

    def started(self, words):
        """mpirun with these words, when it has ended."""
        for length in LENGTHS:
            try:
                done = finished(*self.mpirun_command(length, words))
            except subprocess.TimeoutExpired as late:  # of processes that were spawned: the others wait for them
                if FAILS_BY_ITSELF not in (late.stderr or b"").decode(errors="replace"):
                    raise
                run(*self.command("lamclean"))
                continue
            if FAILS_BY_ITSELF not in done.stderr:
                break
        return done

    def mpirun_command(self, length, words):
        return self.command("mpirun.lam", "-ssi", "padding", "x" * length, *words)

    def compile(self, source, program):
        """An MPI program in C; returns its path."""
        run("cc", "-O1", source, "-o", self.home / program, f"-I{self.tree}/include/lam", f"-L{self.libraries}",
            f"-L{self.tree}/lib/lam/lib", "-lmpi", "-llam", "-lpthread", "-ldl", "-lutil")
        return self.home / program
