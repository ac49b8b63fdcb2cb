"""LAM/MPI 7.1.4 as Debian has it, unpacked and not installed, run as an ordinary user: LAM refuses root, and its tools
have the names of ours."""
import os
import pathlib
import pwd
import shlex
import shutil
import subprocess
import tempfile

import debian_archive

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = ["lam-runtime", "lam4-dev", "liblam4", "libltdl7", "libltdl-dev"]
SECONDS = 120  # that one program may take: only what hangs needs them


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
    """A universe of these hosts, gone at the end of its with block, with its daemons; also when this program is killed
    inside it."""

    def __init__(self, folder=None, packages=(), account="nobody", hosts=("localhost cpu=4",), capabilities=(), **variables):
        """A folder that one of these has unpacked LAM into is taken as it is. The variables are the universe's. The user
        has these capabilities, if root starts it."""
        self._own_folder = None if folder else tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(folder or self._own_folder.name)
        self.user, self.variables = pwd.getpwnam(account), variables
        self.capabilities = ",".join(f"+{name}" for name in capabilities)
        self.tree = self.folder / "root/usr"
        if not self.tree.exists():
            self._unpack(packages)
        self.libraries = next(self.tree.rglob("liblam.so.4")).parent
        self.before_libc = self.folder / "empty_parts.so"
        if not self.before_libc.exists():
            run("cc", "-O1", "-shared", "-fPIC", HERE / "empty_parts.c", "-o", self.before_libc)
        self.home = self.folder / "home"
        self.home.mkdir(exist_ok=True)
        (self.home / "hosts").write_text("".join(f"{host}\n" for host in hosts))
        if os.geteuid() == 0:
            os.chown(self.home, self.user.pw_uid, self.user.pw_gid)

    def _unpack(self, packages):
        debian_archive.unpack([*PACKAGES, *packages], self.folder)
        # Where LAMHOME says, not in /etc, and there under both names.
        settings = self.tree / "etc"
        settings.mkdir()
        for file in (self.folder / "root/etc/lam").iterdir():
            shutil.copy(file, settings / file.name)
            shutil.copy(file, settings / ("lam-" + file.name))

    def __enter__(self):
        # Halts it once nobody has the other end of its pipe any more.
        left = self.folder if self._own_folder else ""
        self._halt = subprocess.Popen(["sh", "-c", 'cat; "$@"; [ -z "$0" ] || rm -rf "$0"', left, *self.command("lamhalt")],
                                      stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                      start_new_session=True)
        # It leaves a daemon behind that must not keep our pipes: its words go to a file.
        said = self.folder / "lamboot.log"
        with open(said, "w", encoding="utf-8") as log:
            done = subprocess.run(self.command("lamboot", self.home / "hosts"), stdin=subprocess.DEVNULL, stdout=log,
                                  stderr=log, timeout=SECONDS, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"lamboot: status {done.returncode}\n{said.read_text()}")
        return self

    def __exit__(self, *_):
        self._halt.stdin.close()
        self._halt.wait(timeout=SECONDS)
        if self._own_folder:
            self._own_folder.cleanup()

    def environment(self):
        return {"LAMHOME": self.tree, "LD_LIBRARY_PATH": self.libraries, "LD_PRELOAD": self.before_libc, "HOME": self.home, "TMPDIR": self.home,
                "LAM_MPI_SESSION_SUFFIX": "unpacked", "SHELL": "/bin/sh", "USER": self.user.pw_name,
                "PATH": f"{self.tree}/bin:/usr/bin:/bin", **self.variables}

    def command(self, *words):
        """As the ordinary user, with an environment of its own."""
        other_user = ["setpriv", "--reuid", self.user.pw_uid, "--regid", self.user.pw_gid, "--clear-groups"]
        if self.capabilities:
            other_user += ["--inh-caps", self.capabilities, "--ambient-caps", self.capabilities]
        return [str(word) for word in (*(other_user if os.geteuid() == 0 else []), "env", "-i", "-C", self.home,
                                       *(f"{name}={value}" for name, value in self.environment().items()), *words)]

    def mpirun(self, processes, *program, **parameters):
        """What the program prints. LAM's parameters are rpi, base_module_path and so on."""
        given = [word for name, value in parameters.items() for word in ("-ssi", name, value)]
        return output_of(self.started(["-np", processes, *given, *program]))

    def started(self, words):
        """mpirun with these words, when it has ended."""
        return finished(*self.mpirun_command(words))

    def mpirun_command(self, words):
        return self.command("mpirun.lam", *words)

    def compile(self, source, program):
        """An MPI program in C or Fortran; returns its name from LAM's folder, where mpirun starts it."""
        compiler = ["gfortran", "-w", "-fallow-argument-mismatch"] if source.suffix == ".f90" else ["cc"]
        libraries = ["-llamf77mpi"] if source.suffix == ".f90" else []
        run(*compiler, "-O1", "-rdynamic", source, "-o", self.home / program, f"-I{HERE.parents[1]}",
            f"-I{self.tree}/include/lam", f"-L{self.libraries}", f"-L{self.tree}/lib/lam/lib", *libraries, "-lmpi", "-llam", "-lpthread", "-ldl", "-lutil")
        return f"./{program}"
