"""A copy of the source tree whose sources have all mistakes, and a build of it: unit tests and simulation, each a
server (fork_server.h). What does not compile is left out, mistake by mistake."""
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys

import switched_source

PROBLEM = re.compile(r"^(\S+?):(\d+):(\d+): +(?:fatal error|error|  required from)", re.MULTILINE)
PROGRAMS = (r"^(tests/unit/(?:base|wire|layout|reliability|paths|counter|message|sync|operation|endpoint|poller|udp|shm)_\w+_test"
            r"|tests/simulation/simulate): ")
WORDS_ALONE = ("dataplane/endpoint/fault_names.cc", "dataplane/endpoint/fault_line.h")
COMPILE = ["g++", "-std=c++20", "-fsyntax-only", "-w", "-D_GNU_SOURCE", "-fmax-errors=0"]
SERVER = """gtest_main_dep = declare_dependency(dependencies: gtest_dep, link_with: static_library('mutant_server',
  'mutants/unit_server.cc', dependencies: gtest_dep, include_directories: root_include))"""


def write_if_new(path, text):
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


class Tree:
    def __init__(self, root, folder, folders):
        self.root, self.folder = root, folder
        self.tree, self.build = folder / "tree", folder / "build"
        self.left_out = folder / "left_out.json"
        self.switch = self.tree / "tests/mutants/mutant_switch.h"
        self.sources = [source for place in folders for source in self.sources_in(place) if source not in WORDS_ALONE]
        self.texts = {source: (root / source).read_text(encoding="utf-8") for source in self.sources}
        out = set(map(tuple, json.loads(self.left_out.read_text()))) if self.left_out.exists() else set()
        self.out = out
        self.mutants, self.of_source, self.ranges = {}, {}, {}
        for source in self.sources:
            self.of_source[source] = []
            for mutant in switched_source.Source(self.texts[source]).mutants():
                number = len(self.mutants) + 1
                self.mutants[number] = (source, mutant)
                self.of_source[source].append(number)

    def sources_in(self, place):
        found = [self.root / place] if (self.root / place).is_file() else sorted(
            [*(self.root / place).rglob("*.cc"), *(self.root / place).rglob("*.h")])
        return [str(path.relative_to(self.root)) for path in found]

    def is_out(self, number):
        source, mutant = self.mutants[number]
        return (source, mutant.name) in self.out

    # ---- the copy ----

    def write(self):
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=self.root, stdout=subprocess.PIPE,
                                text=True, check=True)
        others = {*self.texts, "tests/meson.build", "tests/simulation/simulate_main.cc"}
        for name in set(listed.stdout.splitlines()) - others:
            source = self.root / name
            if not source.is_file():
                continue
            target = self.tree / name
            if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(source.read_bytes())
                target.chmod(source.stat().st_mode)
        meson = (self.root / "tests/meson.build").read_text(encoding="utf-8")
        changed = meson.replace("gtest_main_dep = dependency('gtest_main')", SERVER)
        if changed == meson:
            sys.exit("tests/meson.build has no gtest_main_dep any more")
        write_if_new(self.tree / "tests/meson.build", changed)
        write_if_new(self.tree / "tests/simulation/simulate_main.cc",
                     (self.root / "tests/mutants/simulation_server.cc").read_text(encoding="utf-8"))
        for source in self.sources:
            self.write_source(source)

    def write_source(self, source):
        chosen = [number for number in self.of_source[source] if not self.is_out(number)]
        text, ranges = switched_source.switched(self.texts[source],
                                                [(number, self.mutants[number][1]) for number in chosen])
        self.ranges[source] = (text, list(zip(chosen, ranges)))
        write_if_new(self.tree / source, text)

    # ---- what does not compile ----

    def leave_out(self, output):
        """The mistakes that the compiler's words are about; their sources are written anew."""
        sources = set()
        for name, line, column in {found.groups() for found in PROBLEM.finditer(output)}:
            path = (self.build / name).resolve()
            source = str(path.relative_to(self.tree)) if path.is_relative_to(self.tree) else ""
            if source not in self.ranges:
                continue
            blamed = self.blamed(source, int(line), int(column))
            self.out |= {(source, self.mutants[number][1].name) for number in blamed}
            if blamed:
                sources.add(source)
        for source in sources:
            self.write_source(source)
        self.left_out.write_text(json.dumps(sorted(self.out)), encoding="utf-8")
        return sources

    def blamed(self, source, line, column):
        text, ranges = self.ranges[source]
        lines = text.split("\n")
        start = sum(len(before) + 1 for before in lines[:line - 1])
        place = start + min(column, len(lines[line - 1])) - 1
        around = [(end - begin, number) for number, (begin, end) in ranges if begin <= place < end]
        if around:
            return [min(around)[1]]
        return [number for number, (begin, _) in ranges if start <= begin < start + len(lines[line - 1])]

    def check(self):
        """Until every source compiles by itself."""
        command = [*COMPILE, "-I", str(self.tree), "-include", str(self.switch)]
        waiting = [source for source in self.sources if source.endswith(".cc")]
        self.build.mkdir(exist_ok=True)
        for _ in range(40):
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                compiled = pool.map(lambda source: subprocess.run(
                    [*command, str(self.tree / source)], cwd=self.build, stderr=subprocess.PIPE, text=True,
                    check=False), waiting)
                results = dict(zip(waiting, compiled))
            failed = [source for source, done in results.items() if done.returncode != 0]
            print(f"# {len(failed)} of {len(waiting)} sources do not compile; {len(self.out)} mistakes are left out",
                  flush=True)
            if not failed:
                return
            if not self.leave_out("\n".join(results[source].stderr for source in failed)):
                sys.exit(results[failed[0]].stderr)
            waiting = failed
        sys.exit("does not come to an end")

    # ---- the build ----

    def make(self):
        self.write()
        self.check()
        if not (self.build / "build.ninja").exists():
            subprocess.run(["meson", "setup", str(self.build), str(self.tree), "-Dtests=true", "-Db_lto=false",
                            "-Doptimization=1", "-Ddebug=false", "-Dwerror=false", "-Dwarning_level=0",
                            f"-Dcpp_args=-w -include {self.switch}"], check=True, stdout=subprocess.DEVNULL)
        targets = subprocess.run(["ninja", "-C", str(self.build), "-t", "targets", "all"], stdout=subprocess.PIPE,
                                 text=True, check=True).stdout
        wanted = sorted(set(re.findall(PROGRAMS, targets, re.MULTILINE)))
        modules = re.findall(r"^(tests/unit/base/lib\S*faulting\.so): ", targets, re.MULTILINE)  # of base/faulting_call
        for _ in range(20):
            done = subprocess.run(["ninja", "-C", str(self.build), "-k0", *wanted, *modules], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, check=False)
            if done.returncode == 0:
                break
            if not self.leave_out(done.stdout):
                sys.exit(done.stdout[-5000:])
            print(f"# {len(self.out)} mistakes left out", flush=True)
            self.check()
        (self.folder / "numbers.json").write_text(json.dumps({
            number: [source, mutant.line, mutant.kind, mutant.name]
            for number, (source, mutant) in self.mutants.items() if not self.is_out(number)}), encoding="utf-8")
        (self.folder / "programs.json").write_text(json.dumps(wanted), encoding="utf-8")
