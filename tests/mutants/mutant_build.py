"""One changed source in a build: compiled once, linked in front of the libraries so that it takes the place of the
right one, and tried. What is the same for all mutants of a folder is made once and kept in BUILD/mutants: its headers,
and how long each unit test takes. A mutant then costs a second or two of the compiler and one link of a program that
has all quick unit tests of the folder."""
import json
import os
import pathlib
import re
import resource
import shlex
import signal
import subprocess
import sys
import time

QUICK_SECONDS = 0.3  # unit tests below this are linked into one program
MOST_MEMORY = 4 << 30
FAST_LINK = ["-fuse-ld=gold", "-Wl,-s"]


def run(words, folder, seconds):
    """(status, output); status None: it ran longer and was ended with all that it started."""
    def limits():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))

    with subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", start_new_session=True, preexec_fn=limits) as process:
        try:
            output, _ = process.communicate(timeout=seconds)
            return process.returncode, output
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None, process.communicate()[0]


class Programs:
    """What ninja knows of a build, asked once."""

    def __init__(self, folder):
        self.folder, self.links = folder, {}
        self.kept = folder / "mutants"
        self.kept.mkdir(exist_ok=True)
        self.targets = self.ninja("-t", "targets", "all")
        times = self.kept / "seconds.json"
        self.seconds = json.loads(times.read_text(encoding="utf-8")) if times.exists() else {}

    def ninja(self, *words):
        done = subprocess.run(["ninja", "-C", str(self.folder), *words], stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"ninja {' '.join(words)}:\n{done.stdout}")
        return done.stdout

    def command(self, target):
        return shlex.split(self.ninja("-t", "commands", target).splitlines()[-1])

    def seconds_of(self, test):
        """How long it takes without a mistake."""
        if test not in self.seconds:
            start = time.monotonic()
            status, output = run([self.folder / test], self.kept, 120)
            if status != 0:
                sys.exit(f"{test} fails without any mutant:\n{output}")
            self.seconds[test] = time.monotonic() - start
            (self.kept / "seconds.json").write_text(json.dumps(self.seconds), encoding="utf-8")
        return self.seconds[test]

    def link(self, programs, mutant, output):
        """The tests of several programs become one. None: they do not go together."""
        key = tuple(programs)
        if key not in self.links:
            commands = [self.command(program) for program in programs]
            words = [word for word in commands[0] if not word.endswith(".o")]
            objects = sorted({word for command in commands for word in command if word.endswith(".o")})
            libraries = sorted({word for command in commands[1:] for word in command
                                if word.endswith(".a") and word not in words})
            end = words.index("-Wl,--end-group") if "-Wl,--end-group" in words else len(words)
            self.links[key] = words[:end] + libraries + words[end:], objects
        words, objects = self.links[key]
        words = list(words)
        at = words.index("-o") + 1
        words[at:at + 1] = [str(output), str(mutant), *objects]
        done = subprocess.run([*words, *FAST_LINK], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False)
        if done.returncode != 0 and len(programs) > 1:
            return None
        if done.returncode != 0:
            sys.exit(f"{programs[0]} does not link with the mutant: is {self.folder} up to date?\n{done.stdout}")
        return output


class Source:
    """How a build compiles one source, and which programs have it."""

    def __init__(self, programs, root, source):
        self.programs, self.root, self.source = programs, root, source
        self.folder = programs.folder
        library, self.compile_command = self.library_of()
        users = programs.ninja("-t", "query", library).split("outputs:")[1].split()
        own = f"tests/unit/{pathlib.Path(source).parent.name}_"
        tests = [user for user in users if user.startswith("tests/unit/") and (self.folder / user).exists()]
        self.own = [test for test in tests if test.startswith(own + pathlib.Path(source).stem)]
        self.near = sorted(test for test in tests if test.startswith(own) and test not in self.own)
        self.others = sorted(test for test in tests if not test.startswith(own))
        self.simulated = "tests/simulation/simulate" in users
        self.right = None

    def library_of(self):
        name = re.escape(pathlib.Path(self.source).name)
        for found in re.finditer(rf"^(\S+/lib\w+\.a)\.p/{name}\.o: ", self.programs.targets, re.MULTILINE):
            words = self.programs.command(f"{found.group(1)}.p/{pathlib.Path(self.source).name}.o")
            if (self.folder / words[-1]).resolve() == (self.root / self.source).resolve():
                words = [word for word in words if word not in ("-Werror", "-MD", "ccache") and word[:2] != "-g"]
                for option in ("-MQ", "-MF", "-o"):
                    at = words.index(option)
                    del words[at:at + 2]
                return found.group(1), [*words[:words.index("-c")], "-w", "-pipe"]
        sys.exit(f"{self.source}: {self.folder} does not compile it into a library (or with unity)")

    def headers(self):
        """What all sources of the folder include, compiled once."""
        header = self.programs.kept / (str(pathlib.Path(self.source).parent).replace("/", "_") + ".h")
        built = header.with_name(header.name + ".gch")
        sources = sorted((self.root / self.source).parent.glob("*.cc"))
        newest = max(file.stat().st_mtime for file in self.root.glob("dataplane/**/*.h"))
        if not built.exists() or built.stat().st_mtime < newest:
            includes = sorted({line.split("//")[0].strip() for source in sources
                               for line in source.read_text(encoding="utf-8").split("\n")
                               if re.match(r'#include ("dataplane/|<[a-z_/0-9]+>)', line)})
            header.write_text("\n".join(includes) + "\n", encoding="utf-8")
            subprocess.run([*self.compile_command, "-x", "c++-header", str(header), "-o", str(built)], cwd=self.folder,
                           check=False)
        return header

    def object_of(self, text, work):
        changed, output = work / "mutant.cc", work / "mutant.o"
        changed.write_text(text, encoding="utf-8")
        done = subprocess.run([*self.compile_command, "-include", str(self.headers()), "-c", changed.name, "-o",
                               str(output), f"-I{self.folder}", f"-I{self.root}"], cwd=work, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False)
        return output if done.returncode == 0 else None

    def compile(self, text, work):
        """The mutant's object; None: it does not compile; False: it is the right one, byte for byte."""
        if self.right is None:
            made = self.object_of((self.root / self.source).read_text(encoding="utf-8"), work)
            if made is None:
                sys.exit(f"{self.source} does not compile without a mistake")
            self.right = made.read_bytes()
        mutant = self.object_of(text, work)
        return mutant and (mutant.read_bytes() != self.right and mutant)

    def only(self, words):
        self.own, self.near, self.others = ([test for test in tests if any(word in test for word in words)]
                                            for tests in (self.own, self.near, self.others))
        if not self.own + self.near + self.others:
            sys.exit(f"no unit test of {self.source} has one of these words in its name: {' '.join(words)}")

    def groups(self):
        """(before, after the simulation) lists of tests that make one program each: the source's own first, slow ones
        last."""
        quick = lambda test: self.programs.seconds_of(test) < QUICK_SECONDS
        first = [self.own] if self.own else []
        first += [group for group in (list(filter(quick, self.near)), list(filter(quick, self.others))) if group]
        return first, [[test] for test in self.near + self.others if not quick(test)]
