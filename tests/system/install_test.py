#!/usr/bin/env python3
"""What `meson install` gives a user: headers, the library under its names, compiler wrappers, pkg-config, tools, man
pages; and that programs built with them run from the installed tree alone.

usage: install_test.py BUILD_FOLDER"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from api_jobs import free_ports

BUILD = sys.argv[1]
README = pathlib.Path(__file__).parents[2] / "README.md"
LAPIF = pathlib.Path(__file__).parents[2] / "deploy/man/man7/lapif.7"
PROGRAM = r"""
#include <lapi.h>
#include <stdio.h>
#include <string.h>
int main(void) {
  lapi_handle_t handle;
  lapi_info_t info;
  lapi_cntr_t done;
  void *words[64];
  int tasks, task, word = -1, value;
  memset(&info, 0, sizeof info);
  memset(&done, 0, sizeof done);
  if (LAPI_Init(&handle, &info) != LAPI_SUCCESS) return 2;
  LAPI_Qenv(handle, NUM_TASKS, &tasks);
  LAPI_Qenv(handle, TASK_ID, &task);
  LAPI_Address_init(handle, &word, words);
  value = task;
  LAPI_Put(handle, (task + 1) % tasks, sizeof value, words[(task + 1) % tasks], &value, NULL, NULL, &done);
  LAPI_Waitcntr(handle, &done, 1, NULL);
  LAPI_Gfence(handle);
  printf("%d got %d\n", task, word);
  LAPI_Term(handle);
  return 0;
}
"""

CXX20_PROGRAM = r"""
#include <lapi.hpp>
#include <cstdio>
int main() {
  lapi::Context context;
  int word = -1, task = static_cast<int>(context.task());
  lapi::Counter done;
  auto words = context.collect(&word);
  context.put(words[(context.task() + 1) % context.tasks()], task, {.completion = &done});
  context.wait(done);
  context.fence_all();
  std::printf("%d got %d\n", task, word);
}
"""

CMAKE_PROJECT = """cmake_minimum_required(VERSION 3.18)
project(program C)
find_package(openlapi VERSION_WANTED REQUIRED)
add_executable(program program.c)
target_link_libraries(program openlapi::lapi)
"""
CMAKE_FORTRAN_PROJECT = """cmake_minimum_required(VERSION 3.18)
project(programs Fortran)
find_package(openlapi REQUIRED)
foreach(name program module)
  add_executable(${name} ../${name}.f)
  target_link_libraries(${name} openlapi::lapif)
endforeach()
"""

# Passes a procedure of its own to another task, and counters of two kinds to one call.
FORTRAN_PROGRAM = r"""
      program main
      implicit none
      include 'lapif.h'
      integer handle, error, task, tasks, word
      type (LAPI_INFO_T) info
      type (LAPI_CNTR_T) done
      integer(kind=LAPI_ADDR_TYPE) accept
      external accept
      common /shared/ word
      word = -1
      info = LAPI_INFO_T(0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
      call LAPI_INIT(handle, info, error)
      if (error .ne. LAPI_SUCCESS) stop 2
      call LAPI_QENV(handle, NUM_TASKS, tasks, error)
      call LAPI_QENV(handle, TASK_ID, task, error)
      done%cntr = 0
      call LAPI_GFENCE(handle, error)
      call LAPI_AMSEND(handle, mod(task + 1, tasks), accept, 0, 0,
     &  task, 4_LAPI_LONG_TYPE, LAPI_ADDR_NULL, LAPI_ADDR_NULL, done,
     &  error)
      call LAPI_WAITCNTR(handle, done, 1, LAPI_ADDR_NULL, error)
      call LAPI_GFENCE(handle, error)
      write (*, '(i0, a, i0)') task, ' got ', word
      call LAPI_TERM(handle, error)
      end

      function accept(hdl, uhdr, uhdr_len, msg_len, comp_h, user_info)
      implicit none
      include 'lapif.h'
      integer hdl, uhdr, uhdr_len, word, error
      integer(kind=LAPI_ADDR_TYPE) accept, msg_len, comp_h, user_info
      common /shared/ word
      call LAPI_ADDRESS(word, accept, error)
      end
"""
MODULE_PROGRAM = FORTRAN_PROGRAM.replace("      implicit none\n      include 'lapif.h'\n",
                                         "      use lapi\n      implicit none\n")
GFORTRAN = shutil.which("gfortran")
OPTIONS = json.loads(subprocess.run(["meson", "introspect", "--buildoptions", BUILD], capture_output=True, text=True,
                                    check=True).stdout)
HELPERS = pathlib.Path(next(option["value"] for option in OPTIONS if option["name"] == "libexecdir"), "openlapi")
SANITIZED = next(option["value"] for option in OPTIONS if option["name"] == "b_sanitize") != "none"


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=120, **options)
    assert done.returncode == 0, f"{words} ended with {done.returncode}: {done.stdout}{done.stderr}"
    return done.stdout


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="openlapi-install-")
        root = pathlib.Path(cls.folder.name)
        os.chmod(root, 0o755)
        run("meson", "install", "--no-rebuild", "--quiet", "-C", BUILD, "--destdir", root)
        cls.prefix = next(path.parent.parent for path in root.rglob("lapi.h"))
        cls.libdir = next(path.parent for path in root.rglob("liblapi.so") if path.parent.name != "openlapi")
        cls.source = root / "program.c"
        cls.source.write_text(PROGRAM)
        (root / "program.cc").write_text(PROGRAM)
        (root / "program.f").write_text(FORTRAN_PROGRAM)
        (root / "module.f").write_text(MODULE_PROGRAM)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def check_runs(self, program, **environment):
        output = run(self.prefix / "bin/lapirun", "-n", "3", program, env=dict(os.environ, **environment))
        self.assertEqual(sorted(output.splitlines()), ["0 got 2", "1 got 0", "2 got 1"])

    def test_lapicc_builds_programs_that_run(self):
        program = self.source.with_suffix(".lapicc")
        strict = ["-std=c11", "-Wall", "-Wextra", "-pedantic", "-Werror"]
        run(self.prefix / "bin/lapicc", *strict, self.source, "-o", program)
        self.check_runs(program)

    def test_lapicxx_builds_programs_that_run(self):
        program = self.source.with_suffix(".lapicxx")
        run(self.prefix / "bin/lapicxx", "-std=c++17", "-Wall", self.source.with_suffix(".cc"), "-o", program)
        self.check_runs(program)
        self.source.with_name("program20.cc").write_text(CXX20_PROGRAM)
        run(self.prefix / "bin/lapicxx", "-std=c++20", "-Wall", self.source.with_name("program20.cc"), "-o", program)
        self.check_runs(program)

    @unittest.skipUnless(GFORTRAN, "no Fortran compiler")
    def test_lapifort_builds_programs_that_run(self):
        program = self.source.with_suffix(".lapifort")
        run(self.prefix / "bin/lapifort", self.source.with_suffix(".f"), "-o", program)
        self.check_runs(program)

    @unittest.skipUnless(GFORTRAN, "no Fortran compiler")
    def test_lapifort_finds_the_module(self):
        for options in ([], ["-pedantic-errors"]):
            program = self.source.with_suffix(".module")
            run(self.prefix / "bin/lapifort", *options, self.source.with_name("module.f"), "-o", program)
            self.check_runs(program)
        forgotten = self.source.with_name("forgotten.f")
        forgotten.write_text(MODULE_PROGRAM.replace("LAPI_ADDR_NULL, done,", "done,"))
        done = subprocess.run([self.prefix / "bin/lapifort", "-c", forgotten], cwd=self.folder.name,
                              capture_output=True, text=True, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("lapi_amsend", done.stderr)

    @unittest.skipUnless(GFORTRAN, "no Fortran compiler")
    def test_pkg_config_builds_fortran_programs_that_run(self):
        program = self.source.with_suffix(".lapif")
        environment = dict(os.environ, PKG_CONFIG_LIBDIR=str(self.libdir / "pkgconfig"),
                           PKG_CONFIG_SYSROOT_DIR=self.folder.name)
        flags = run("pkg-config", "--cflags", "--libs", "lapif", env=environment).split()
        for source in ("program.f", "module.f"):
            run("gfortran", "-no-pie", self.source.with_name(source), "-o", program, *flags)
            self.check_runs(program, LD_LIBRARY_PATH=str(self.libdir))

    @unittest.skipUnless(GFORTRAN, "no Fortran compiler")
    def test_lapifort_makes_libraries_and_objects(self):
        library = self.source.with_suffix(".so")
        run(self.prefix / "bin/lapifort", "-shared", "-fPIC", self.source.with_suffix(".f"), "-o", library)
        self.assertIn("DYN", run("readelf", "-h", library))
        run(self.prefix / "bin/lapifort", "-c", self.source.with_suffix(".f"), "-o", self.source.with_suffix(".o"))

    def test_pkg_config_builds_programs_that_run(self):
        program = self.source.with_suffix(".pkgconfig")
        environment = dict(os.environ, PKG_CONFIG_LIBDIR=str(self.libdir / "pkgconfig"),
                           PKG_CONFIG_SYSROOT_DIR=self.folder.name)
        flags = run("pkg-config", "--cflags", "--libs", "lapi", env=environment).split()
        run("cc", self.source, "-o", program, *flags)
        self.check_runs(program, LD_LIBRARY_PATH=str(self.libdir))

    def check_line(self, line, source, text, **environment):
        """The line of a document, typed where there is a program of that name, builds one that runs."""
        with tempfile.TemporaryDirectory(dir=self.folder.name) as folder:
            work = pathlib.Path(folder)
            # As `meson setup --prefix` would have written them for this folder.
            for name in ("lapi.pc", "lapif.pc"):
                installed = (self.libdir / "pkgconfig" / name).read_text()
                (work / name).write_text(re.sub("^prefix=.*", f"prefix={self.prefix}", installed, flags=re.M))
            (work / source).write_text(text)
            run("sh", "-c", line, cwd=work, env={**os.environ, "PKG_CONFIG_LIBDIR": folder, **environment})
            self.check_runs(work / "program")

    def test_the_readmes_compile_line_builds_programs_that_run(self):
        [line] = re.findall(r"^    (cc .*pkg-config.*)$", README.read_text(), re.M)
        self.check_line(line, "program.c", PROGRAM)

    @unittest.skipUnless(GFORTRAN, "no Fortran compiler")
    def test_the_compile_line_of_lapif_builds_programs_that_run(self):
        [line] = re.findall(r"^\.B (gfortran .*pkg-config.*)$", LAPIF.read_text().replace("\\-", "-"), re.M)
        line = line.replace("program.f90", "program.f")
        for text in (FORTRAN_PROGRAM, MODULE_PROGRAM):
            self.check_line(line, "program.f", text)
            # As below /usr, where pkg-config leaves out the headers' folder.
            self.check_line(line, "program.f", text, PKG_CONFIG_SYSTEM_INCLUDE_PATH=str(self.prefix / "include"))

    def configured_with_cmake(self, name, project, prefix=None):
        """Whether CMake finds the library, what it says, and the folder of the build."""
        work = pathlib.Path(self.folder.name) / name
        work.mkdir()
        (work / "program.c").write_text(PROGRAM)
        (work / "CMakeLists.txt").write_text(project)
        command = ["cmake", "-S", work, "-B", work / "build", f"-DCMAKE_PREFIX_PATH={prefix or self.prefix}"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        return done.returncode == 0, done.stdout + done.stderr, work / "build"

    @unittest.skipUnless(shutil.which("cmake"), "no CMake")
    def test_cmake_builds_programs_that_run(self):
        found, text, folder = self.configured_with_cmake("cmake", CMAKE_PROJECT.replace("VERSION_WANTED", "0.1"))
        self.assertTrue(found, text)
        run("cmake", "--build", folder)
        self.check_runs(folder / "program")

    @unittest.skipUnless(shutil.which("cmake") and GFORTRAN, "no CMake or no Fortran compiler")
    def test_cmake_builds_fortran_programs_that_run(self):
        found, text, folder = self.configured_with_cmake("cmake-fortran", CMAKE_FORTRAN_PROJECT)
        self.assertTrue(found, text)
        run("cmake", "--build", folder)
        for program in ("program", "module"):
            self.check_runs(folder / program)

    @unittest.skipUnless(shutil.which("cmake"), "no CMake")
    def test_cmake_finds_the_library_through_a_link(self):
        root = pathlib.Path(self.folder.name) / "linked"  # as / is where /lib is a link to usr/lib
        root.mkdir()
        (root / "lib").symlink_to(self.prefix / "lib")
        project = CMAKE_PROJECT.replace("VERSION_WANTED", "")
        found, text, folder = self.configured_with_cmake("cmake-linked", project, root)
        self.assertTrue(found, text)
        run("cmake", "--build", folder)
        self.check_runs(folder / "program")

    @unittest.skipUnless(shutil.which("cmake"), "no CMake")
    def test_cmake_refuses_a_library_that_is_too_old(self):
        self.assertFalse(self.configured_with_cmake("cmake-newer", CMAKE_PROJECT.replace("VERSION_WANTED", "99.0"))[0])

    def test_the_guides_library_name_links(self):
        program = self.source.with_suffix(".lapi_r")
        run("cc", f"-I{self.prefix}/include", self.source, f"-L{self.libdir}", "-llapi_r", "-o", program)
        self.check_runs(program, LD_LIBRARY_PATH=str(self.libdir))

    def test_the_samples_build_and_are_right(self):
        copy = pathlib.Path(self.folder.name) / "samples"
        shutil.copytree(self.prefix / "share/openlapi/samples", copy)
        path = f"{self.prefix / 'bin'}:{os.environ['PATH']}"
        ports = "PORTS=" + " ".join(map(str, free_ports(2)))
        output = run("make", "check", ports, "CFLAGS=-O1 -Wall -Wextra -Werror", cwd=copy,
                     env=dict(os.environ, PATH=path))
        programs = [line for line in output.splitlines() if line.startswith("== ")]
        sources = [*copy.rglob("*.c"), *(copy.rglob("*/*.f90") if GFORTRAN else [])]
        self.assertTrue((copy / "standalone/us/us").exists(), "it needs adapters to run")
        for name in ("run_us", "table", "README.LAPI.STANDALONE.US"):
            self.assertTrue((copy / "standalone/us" / name).exists(), name)
        self.assertEqual(len(programs), len(sources), output)  # udp runs in two ways, us in none
        self.assertEqual(len(re.findall(r"^task [01] of 2: .*: right$", output, re.M)), 2 * len(programs), output)

    def sanitized(self, sanitizer, variable, suppressions):
        """How a job of a program built with a sanitizer ends, and what it says."""
        program = self.source.with_suffix(f".{sanitizer}")
        run(self.prefix / "bin/lapicc", "-g", f"-fsanitize={sanitizer}", self.source, "-o", program)
        options = f"suppressions={self.prefix / 'share/openlapi' / suppressions}" if suppressions else ""
        done = subprocess.run([self.prefix / "bin/lapirun", "-n", "3", program], capture_output=True, text=True,
                              timeout=60, env={**os.environ, variable: options})
        return done.returncode, done.stdout + done.stderr

    @unittest.skipIf(SANITIZED, "the library has a sanitizer's run-time library in it")
    def test_a_program_with_the_address_sanitizer_ends_well(self):
        status, output = self.sanitized("address", "LSAN_OPTIONS", None)
        self.assertNotEqual(status, 0, "libpmix frees all it has: nothing needs to be suppressed")
        self.assertIn("libpmix.so", output)
        self.assertEqual(self.sanitized("address", "LSAN_OPTIONS", "lsan.supp")[0], 0)

    @unittest.skipIf(SANITIZED, "the library has a sanitizer's run-time library in it")
    def test_a_program_with_the_thread_sanitizer_ends_well(self):
        status, output = self.sanitized("thread", "TSAN_OPTIONS", "tsan.supp")
        self.assertEqual(status, 0, output)

    def test_the_library_is_versioned_and_shows_only_its_calls(self):
        self.assertIn("SONAME", run("readelf", "-d", self.libdir / "liblapi.so"))
        self.assertRegex(run("readelf", "-d", self.libdir / "liblapi.so"), r"\[liblapi\.so\.0\]")
        symbols = run("nm", "-D", "--defined-only", self.libdir / "liblapi.so").splitlines()
        names = {line.split()[-1].split("@")[0] for line in symbols} - {"LIBLAPI_0"}
        declared = set(re.findall(r"\b(P?LAPI_[A-Z][a-z_0-9]+)\(", (self.prefix / "include/lapi.h").read_text()))
        fortran = {name for name in names if re.fullmatch(r"p?lapi_[a-z0-9_]+|P?LAPI_[A-Z0-9_]+", name)}
        self.assertEqual(names - fortran, declared & names, "exported but not declared")
        self.assertTrue({"LAPI_Put", "PLAPI_Put", "LAPI_Init", "PLAPI_Init"} <= names)

    @unittest.skipUnless(os.path.exists(os.path.join(BUILD, "shm/libopenlapi-heap.so")), "sanitizers have their own")
    def test_lapirun_finds_the_heap_that_it_preloads(self):
        preloaded = re.search("LD_PRELOAD=(.*)", run(self.prefix / "bin/lapirun", "--direct-heap", "env")).group(1).split()
        self.assertEqual(os.path.realpath(preloaded[-2]), os.path.realpath(self.libdir / "openlapi/libopenlapi-heap.so"))
        self.assertNotIn("stdc++", run("readelf", "-d", preloaded[-2]))

    @unittest.skipUnless(os.path.exists(os.path.join(BUILD, "nic/verbs/libopenlapi-verbs.so")), "no libibverbs")
    def test_user_space_mode_finds_its_module(self):
        self.assertTrue((self.libdir / "openlapi/libopenlapi-verbs.so").is_file())
        self.assertNotIn("ibverbs", run("readelf", "-d", self.libdir / "liblapi.so"))
        for library in (self.libdir, self.libdir / "openlapi"):
            program = self.source.with_suffix(f".{library.name}")
            run("cc", f"-I{self.prefix}/include", self.source, f"-L{library}", f"-Wl,-rpath,{library}", "-llapi", "-o",
                program)
            done = subprocess.run(
                [self.prefix / "bin/lapirun", "-n", "1", program], capture_output=True, text=True, timeout=60,
                env=dict(os.environ, MP_EUILIB="us", LAPI_USE_SHM="no", MP_EUIDEVICE="no_such_device"))
            # It is there and was asked: what is missing is the device.
            self.assertRegex(done.stderr, "verbs: (this machine has no|there is no) RDMA device")
        verbs = json.loads(run(self.prefix / "bin/lapi_info", "--json"))["transports"][2]
        self.assertEqual((verbs["name"], verbs["built"]), ("verbs", True))

    @unittest.skipUnless(os.path.exists(os.path.join(BUILD, "nic/dpdk/libopenlapi-dpdk.so")), "no libdpdk")
    def test_dpdk_is_a_module_that_is_found(self):
        self.assertTrue((self.libdir / "openlapi/libopenlapi-dpdk.so").is_file())
        self.assertNotIn("librte", run("readelf", "-d", self.libdir / "liblapi.so"))
        dpdk = json.loads(run(self.prefix / "bin/lapi_info", "--json"))["transports"][3]
        self.assertEqual((dpdk["name"], dpdk["built"]), ("dpdk", True))
        self.assertTrue(dpdk["usable"] or dpdk["reason"])

    def test_the_unit_names_what_is_installed(self):
        unit = (self.prefix / "share/openlapi/systemd/lamd.service").read_text()
        programs = re.findall(r'^Exec\w+="(/[^"]+)"', unit, re.M)
        self.assertEqual([os.path.basename(program) for program in programs], ["lamboot", "lamhalt", "tkill"])
        for program in programs:
            self.assertTrue(str(self.prefix).endswith(os.path.dirname(os.path.dirname(program))), program)
            self.assertTrue(os.access(self.prefix / "bin" / os.path.basename(program), os.X_OK), program)
        self.assertNotIn("@bindir@", unit)
        if shutil.which("systemd-analyze"):
            with tempfile.TemporaryDirectory() as folder:
                copy = pathlib.Path(folder, "lamd.service")
                copy.write_text(unit.replace(os.path.dirname(programs[0]), str(self.prefix / "bin")))
                done = subprocess.run(["systemd-analyze", "verify", "--user", "--man=no", copy], capture_output=True,
                                      text=True, check=False, timeout=60, env={**os.environ, "XDG_RUNTIME_DIR": folder})
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_what_nobody_starts_is_in_no_path(self):
        self.assertEqual(sorted(os.listdir(self.prefix / HELPERS)), ["lamd", "lamtasks", "lamtree", "wipe"])
        self.assertFalse({"lamd", "lamtasks", "lamtree", "wipe"} & set(os.listdir(self.prefix / "bin")))
        self.assertFalse(list(self.prefix.rglob("wipe.1")), "Debian's wipe has that page")

    def boot(self, folder, schema, algorithm):
        """A universe of this tree, moved from where it was configured for: what lamnodes and a job say."""
        (folder / "hosts").write_text(f"one\ntwo prefix={self.prefix}\nthree\n")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("LAM", "SLURM"))}
        environment.update(LAM_MPI_SESSION_PREFIX=str(folder), LAM_MPI_SSI_boot="local", PATH="/usr/bin:/bin",
                           LAM_MPI_SSI_boot_base_algorithm=algorithm, LAM_MPI_SSI_boot_base_tree_degree="1")
        try:
            words = ["-c", schema] if schema else []
            run(self.prefix / "bin/lamboot", "-H", *words, folder / "hosts", env=environment, cwd=folder)
            nodes = run(self.prefix / "bin/lamnodes", env=environment)
            job = run(self.prefix / "bin/lapirun", "N", "sh", "-c", "echo $PATH", env=environment)
        finally:
            wiped = run(self.prefix / HELPERS / "wipe", "-v", folder / "hosts", env=environment)
        self.assertEqual(wiped, "n0 (one): wiped\nn1 (two): wiped\nn2 (three): wiped\n")
        self.assertEqual(nodes, "n0\tone:1:origin,this_node\nn1\ttwo:1:\nn2\tthree:1:\n")
        self.assertEqual(job, 3 * "/usr/bin:/bin\n")

    def test_universes_boot(self):
        for algorithm, words in (("linear", None), ("tree", None), ("linear", "lamd $inet_topo $session_prefix")):
            with self.subTest(algorithm=algorithm, words=words), tempfile.TemporaryDirectory() as folder:
                schema = None  # the installation's, wherever that is now
                if words is not None:
                    schema = pathlib.Path(folder, "schema")
                    schema.write_text(words + "\n")
                self.boot(pathlib.Path(folder), schema, algorithm)

    def test_the_documents_are_there(self):
        for name in ("LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md"):
            self.assertTrue((self.prefix / "share/doc/openlapi" / name).is_file(), name)

    def test_the_tracing_library_has_the_same_name(self):
        self.assertRegex(run("readelf", "-d", self.libdir / "openlapi/liblapi.so"), r"\[liblapi\.so\.0\]")

    def test_tools_answer_and_have_pages(self):
        for tool in ["lapirun", "lamexec", "lapi_perf", "lapi_info"]:
            self.assertIn(tool, run(self.prefix / "bin" / tool, "--help"))
            self.assertTrue(list(self.prefix.rglob(f"{tool}.1")), f"no man page of {tool}")
        for tool in ["lapirun", "lamexec", "lamboot", "lamclean", "lamgrow", "lamhalt", "lamnodes", "lamshrink", "lamwipe",
                     "lapi_ntbl", "namstat", "recon", "tkill"]:
            self.assertRegex(run(self.prefix / "bin" / tool, "--version"), rf"^{tool} \(openlapi\) \d+\.\d+\.\d+\n$")
        for tool in ["lamboot", "lamclean", "lamgrow", "lamhalt", "lamnodes", "lamshrink", "lamwipe", "lapi_ntbl", "namstat",
                     "recon", "tkill", "hboot"]:
            self.assertIn(tool, run(self.prefix / "bin" / tool, "-h"))
            self.assertTrue(list(self.prefix.rglob(f"{tool}.1")), f"no man page of {tool}")
        for tool in ["lamd", "lamtree"]:
            self.assertIn(f"usage: {tool} ", run(self.prefix / "bin/hboot", tool, "-h"))
            self.assertIn(f"usage: {tool} ", run("hboot", tool, "-h", env={"PATH": f"{self.prefix}/bin:/usr/bin:/bin"}))
            self.assertTrue(list(self.prefix.rglob(f"{tool}.1")), f"no man page of {tool}")
        self.assertTrue(list(self.prefix.rglob("LAPI_Put.3")))
        self.assertTrue(list(self.prefix.rglob("lapi.7")))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
