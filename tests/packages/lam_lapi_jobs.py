"""Jobs over the rpi module `lapi` in an unpacked LAM."""
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import time

from unpacked_lam import SECONDS, UnpackedLam

HERE = pathlib.Path(__file__).resolve().parent
SECONDS_OF_PIPES = 10  # that a killed job's may be open


def side_by_side(function, *arguments):
    """What the function returns for each tuple of arguments: for jobs that sleep, or wait for LAM, most of the time."""
    with concurrent.futures.ThreadPoolExecutor(max_workers=len(arguments)) as threads:
        return list(threads.map(lambda each: function(*each), arguments))


def rest_of(job):
    """What a killed job has printed. What it has started may outlive it, with its pipes."""
    try:
        return job.communicate(timeout=SECONDS_OF_PIPES)
    except subprocess.TimeoutExpired as late:
        return late.stdout, late.stderr


class LapiLam(UnpackedLam):
    """Has the module that is in a folder, and modules of transports that it loads."""

    def __init__(self, built, transports=(), **options):
        super().__init__(**options)
        self.modules = self.folder / "modules"
        if not self.modules.exists():
            self.modules.mkdir()
            shutil.copy(pathlib.Path(built) / "ssi_rpi_lapi.so", self.modules)
            (self.modules / "openlapi").mkdir()
            for transport in transports:
                shutil.copy(transport, self.modules / "openlapi")

    def compile_program(self, source):
        """One of this folder."""
        return self.compile(HERE / source, source.partition(".")[0])

    def words(self, processes, *program, variables=(), options=()):
        return [*options, "-np", processes, *self.parameters(variables), *program]

    def parameters(self, variables=()):
        """Of mpirun, for our module."""
        exported = ["-x", ",".join(variables)] if variables else []
        return [*exported, "-ssi", "base_module_path", self.modules, "-ssi", "rpi", "lapi"]

    def run_lapi(self, processes, *program, variables=(), options=()):
        """The finished job."""
        return self.started(self.words(processes, *program, variables=variables, options=options))

    def connected_jobs(self, sizes, program, letters, parameters):
        """What two jobs print that are started one after the other and connect (lam_connect.c): server, client."""
        name = f"openlapi.{time.monotonic_ns()}"
        both = []
        for side, processes in zip(("server", "client"), sizes):
            words = self.mpirun_command(["-np", processes, *parameters, program, side, name, letters])
            both.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, text=True))
        ended = []
        for job in both:
            try:
                ended.append((*job.communicate(timeout=SECONDS), job.returncode))
            except subprocess.TimeoutExpired:
                job.kill()
                ended.append((*rest_of(job), None))
        if any(status != 0 for *_, status in ended):
            raise RuntimeError(f"{program} {letters}: {ended}")
        return [out for out, *_ in ended]

    def script(self, before, program, words=""):
        """What to start instead of a program: it does something before."""
        script = self.home / f"script.{time.monotonic_ns()}"
        script.write_text(f"#!/bin/sh\n{before}\nexec {program} {words}\n")
        script.chmod(0o755)
        return f"./{script.name}"

    def last_words(self, processes, before, program, expected):
        """What each process has said on standard error: until one has said what is expected, or after the time that it
        may take. LAM ends the others, and its mpirun may wait for ever for a process that has ended in MPI_Init."""
        prefix = self.home / f"said.{time.monotonic_ns()}"
        said = [pathlib.Path(f"{prefix}.{rank}") for rank in range(processes)]
        script = self.script(f"{before}\nexec 2>{prefix}.$LAMRANK", program)
        texts, until = [""] * processes, time.monotonic() + SECONDS
        with subprocess.Popen(self.mpirun_command(self.words(processes, script)), stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as job:
            while not any(expected in text for text in texts) and time.monotonic() < until:
                time.sleep(0.05)
                texts = [file.read_text() if file.exists() else "" for file in said]
            job.kill()
        return texts

    def all_words(self, processes, before, program, words):
        """What the processes have said until all have ended: LAM's mpirun may wait for ever for one that has in MPI_Init."""
        prefix = self.home / f"said.{time.monotonic_ns()}"
        numbers = [pathlib.Path(f"{prefix}.{rank}.number") for rank in range(processes)]
        script = self.script(f"{before}\nexec >{prefix}.$LAMRANK 2>&1\necho $$ >{prefix}.$LAMRANK.number", program, words)

        def have_ended():
            told = [file.read_text() if file.exists() else "" for file in numbers]
            return all(number.endswith("\n") and not pathlib.Path(f"/proc/{number.strip()}").exists() for number in told)

        until = time.monotonic() + SECONDS
        with subprocess.Popen(self.mpirun_command(self.words(processes, script)), stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as job:
            while job.poll() is None and not have_ended():
                if time.monotonic() > until:
                    job.kill()
                    raise RuntimeError(f"{before}: processes have not ended")
                time.sleep(0.05)
            job.kill()
        said = [pathlib.Path(f"{prefix}.{rank}") for rank in range(processes)]
        return "".join(file.read_text() for file in said if file.exists())

    def survivor_says(self, program, kind, variables=(), options=(), last="class"):
        """What process 0 has said: up to the line that begins with the word `last`, or after the time that it may take."""
        self._survivor = self.start_survivor(program, kind, variables, options)
        return self._survivor.says_until(last)

    def start_survivor(self, program, words, variables=(), options=()):
        said = self.home / f"said.{time.monotonic_ns()}"
        script = self.script("", program, f"{words} >{said}.$LAMRANK 2>{said}.$LAMRANK.errors")
        # Without waiting: mpirun would end the survivor, which keeps what mpirun writes to.
        words = self.mpirun_command(self.words(2, script, variables=variables, options=["-nw", *options]))
        subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        return Survivor(said)

    def survivors_errors(self):
        """What process 0 has said on standard error then."""
        return self._survivor.errors()


class Survivor:
    """Process 0 of a job of two whose other process dies, or seems to."""

    def __init__(self, said):
        self._said = said

    def _read(self, file):
        path = pathlib.Path(f"{self._said}.{file}")
        return path.read_text() if path.exists() else ""

    def says(self):
        return self._read("0")

    def errors(self):
        return self._read("0.errors")

    def other_says(self):
        return self._read("1")

    def says_until(self, last):
        """Up to the line that begins with this word, or after the time that it may take."""
        until = time.monotonic() + SECONDS
        while not re.search(f"^{last}.*\n", self.says(), re.M) and time.monotonic() < until:
            time.sleep(0.05)
        return self.says()


class Stream:
    """lam_stream, or a script that starts it, which has begun. `until`: seconds, or a file that is to be there."""

    def __init__(self, lam, until, variables=(), program="./lam_stream"):
        words = lam.words(2, program, until, variables=variables)
        self.process = subprocess.Popen(lam.mpirun_command(words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.begun = self.process.stdout.readline()

    def end(self):
        """Status, output and errors; None: it has not ended in time, and is killed."""
        try:
            out, err = self.process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, err = self.process.communicate()
            return None, self.begun + out, err
        return self.process.returncode, self.begun + out, err
