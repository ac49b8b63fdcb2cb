#!/usr/bin/env python3
"""Third-party boot modules: sources that see only installed headers are compiled as C11 and C++17, loaded by a tool that
is built the same way, and called in the order of the boot SSI specification's tables 1 and 2.

usage: boot_module_test.py BUILD_FOLDER"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from installed_boot_service import LANGUAGES, SOURCES, WARNINGS, InstalledBootService, run

BUILD = pathlib.Path(sys.argv[1]).resolve()
COMPILERS = {"c": "cc", "cc": "c++"}
STANDARDS = {"c": ["c89", "c99", "c11", "c17", "c2x"], "cc": ["c++98", "c++11", "c++14", "c++17", "c++20", "c++23"]}
# What LAM 7.1.4's boot module rsh takes from its library.
LAM_RSH_NEEDS = set("""
    _lam_few al_find ao_param ao_taken bhostparse lam_deallocate_nodes lam_debug lam_get_tmpdir_suffix
    lam_ssi_base_param_lookup_int lam_ssi_base_param_lookup_string lam_ssi_base_param_register_int
    lam_ssi_base_param_register_string lam_ssi_boot_base_alg_linear lam_ssi_boot_base_append_path
    lam_ssi_boot_base_close_srv_connection lam_ssi_boot_base_find_boot_schema lam_ssi_boot_base_find_hostname
    lam_ssi_boot_base_find_prefix lam_ssi_boot_base_get_nodeid lam_ssi_boot_base_ioexecvp lam_ssi_boot_base_lamgrow
    lam_ssi_boot_base_open_srv_connection lam_ssi_boot_base_receive_lamd_info
    lam_ssi_boot_base_receive_universe_info lam_ssi_boot_base_send_lamd_info lam_ssi_boot_base_send_universe_info
    lam_ssi_boot_build_inet_topo lam_ssi_boot_did lam_ssi_boot_do_common_args lam_ssi_boot_optd lamnet_findhosts
    lamnet_findorig sfh_argv_add sfh_argv_break sfh_argv_count sfh_argv_free sfh_argv_glue show_help
    """.split())


class BootModuleTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="openlapi-boot-module-")
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.installed = InstalledBootService(BUILD, cls.folder / "installed")
        cls.library = cls.installed.library
        cls.tool = cls.compile("c", SOURCES / "boot_tool.c", "tool", [])
        cls.daemon = cls.compile("c", SOURCES / "boot_daemon.c", "lamd", [])
        (cls.folder / "conf").write_text("lamd $inet_topo $debug\n")
        (cls.folder / "hosts").write_text("inky\npinky cpu=2\n")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    @classmethod
    def compile(cls, language, source, output, options):
        return cls.installed.compile(language, source, cls.folder / output, options)

    def module(self, name, priority, language="c", interface="1.0.0", file="lam_ssi_boot_{}_module.so"):
        """Compiles a module into a folder of this case."""
        folder = self.folder / self.id().rsplit(".", 1)[-1]
        folder.mkdir(exist_ok=True)
        options = ["-shared", "-fPIC", f"-DNAME={name}", f"-DPRIORITY={priority}"]
        options += ["-DLAM_SSI_BOOT_1_1_0"] if interface == "1.1.0" else []
        self.compile(language, SOURCES / "example_module.c", folder / file.format(name), options)
        return folder

    def boot(self, path, *words, hosts="hosts", conf="conf", **settings):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("LAM", "EXAMPLE"))}
        environment.update(LD_LIBRARY_PATH=str(self.library), LAM_MPI_SSI_base_module_path=str(path),
                           LAM_MPI_SSI_boot_rsh_priority="1")
        environment.update(settings)
        return subprocess.run([self.tool, *words, "-c", conf, hosts], cwd=self.folder, env=environment, timeout=60,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    def test_calls_come_in_the_order_of_tables_1_and_2(self):
        done = self.boot(self.module("alone", 10))
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout.splitlines(), [
            "alone open", "alone init root", "tool selected alone, get_nodeid no", "alone parse_options",
            "alone allocate_nodes", "alone verify_nodes 2", "alone prepare_boot", "alone start_rte_procs",
            "alone open_srv_connection",
            "alone start inky: lamd -H 0.0.0.0 -P 4711 -n 0 -o 0", "alone receive_lamd_info 1",
            "alone start pinky: lamd -H 0.0.0.0 -P 4711 -n 1 -o 0", "alone receive_lamd_info 1",
            "alone close_srv_connection",
            "alone send_universe_info 2 to inky", "alone send_universe_info 2 to pinky",
            "tool status 0 started 2: inky pinky", "alone deallocate_nodes", "alone finalize", "alone close"])

    def test_modules_in_c_and_cplusplus_of_both_interfaces(self):
        for language in LANGUAGES:
            for interface, answer in (("1.0.0", "no"), ("1.1.0", "yes")):
                with self.subTest(language=language, interface=interface):
                    done = self.boot(self.module("both", 10, language, interface))
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    self.assertIn(f"tool selected both, get_nodeid {answer}\n", done.stdout)

    def test_each_header_stands_alone_in_every_standard(self):
        headers = sorted(path.name for path in self.installed.headers.glob("*.h"))
        self.assertIn("lam-ssi-boot.h", headers)
        for language, standards in STANDARDS.items():
            for standard in standards:
                sources = [self.folder / f"{header}.{standard}.{language}" for header in headers]
                for header, source in zip(headers, sources):
                    # Twice: a header that is included again says nothing new.
                    source.write_text(f"#include <{header}>\n#include <{header}>\nextern int unused;\n")
                for interface in ((), ("-DLAM_SSI_BOOT_1_1_0",)):
                    with self.subTest(standard=standard, interface=interface):
                        run(COMPILERS[language], f"-std={standard}", *WARNINGS, *interface, "-fsyntax-only", *sources,
                            *self.installed.flags)

    def test_the_bare_name_of_ioexecvp_is_lams(self):
        """The specification has four arguments, LAM 7.1 five: each kind of module is bound to its own."""
        for interface, name in (("1.0.0", "lam_ssi_boot_base_ioexecvp_1_0_0"), ("1.1.0", "lam_ssi_boot_base_ioexecvp")):
            source = self.folder / "ioexecvp.c"
            more = ", 1" if interface == "1.1.0" else ""
            source.write_text(f"""#include <lam-ssi-boot.h>
                int run_it(char** words);
                int run_it(char** words) {{ return lam_ssi_boot_base_ioexecvp(words, 0, 0, 0{more}); }}\n""")
            options = ["-shared", "-fPIC", *(["-DLAM_SSI_BOOT_1_1_0"] if more else [])]
            for language in LANGUAGES:
                library = self.compile(language, source, "ioexecvp.so", options)
                self.assertIn(name, run("nm", "-D", "--undefined-only", library).split())

    def test_a_module_as_lams_are_has_lams_structures(self):
        """What it asserts about sizes and places is checked by the compiler."""
        library = self.compile("c", SOURCES / "lam_module.c", "lamlike.so", ["-shared", "-fPIC", "-D_GNU_SOURCE"])
        needs = set(run("nm", "-D", "--undefined-only", library).split())
        self.assertEqual(sorted(LAM_RSH_NEEDS - needs), [])

    def test_a_module_in_a_folder_takes_the_place_of_a_built_in_one(self):
        folder = self.module("rsh", 60)
        done = self.boot(folder, "leaf", LAM_MPI_SSI_boot_rsh_priority="60")
        self.assertIn("tool selected rsh, get_nodeid no\n", done.stdout)
        self.assertIn("rsh init leaf\n", done.stdout)
        (folder / "lam_ssi_boot_rsh_module.so").write_text("no object\n")
        done = self.boot(folder, "leaf", LAM_MPI_SSI_boot_rsh_priority="60")
        self.assertIn("tool selected rsh, get_nodeid yes\n", done.stdout)
        self.assertIn("boot module rsh (", done.stderr)

    def test_a_module_that_walks_lists_needs_no_symbol_that_lam_lacks(self):
        """al_top, al_bottom and al_count are macros there."""
        folder = self.module("walks", 10, interface="1.1.0")
        needs = run("nm", "-D", "--undefined-only", folder / "lam_ssi_boot_walks_module.so").split()
        self.assertIn("al_next", needs)
        self.assertEqual([name for name in needs if name in ("al_top", "al_bottom", "al_count")], [])

    def test_the_highest_priority_wins_and_the_others_are_finalised_and_closed(self):
        self.module("low", 10)
        self.module("high", 30)
        folder = self.module("middle", 20)
        done = self.boot(folder, "leaf")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines(), [
            "high open", "low open", "middle open", "high init leaf", "low init leaf", "middle init leaf",
            "low finalize", "low close", "middle finalize", "middle close", "tool selected high, get_nodeid no",
            "high finalize", "high close"])

    def test_priorities_from_the_environment(self):
        self.module("low", 10)
        folder = self.module("high", 30)
        done = self.boot(folder, "leaf", LAM_MPI_SSI_boot_low_priority="99")
        self.assertIn("tool selected low", done.stdout)
        done = self.boot(folder, "leaf", LAM_MPI_SSI_boot_low_priority="much")
        self.assertIn("tool: LAM_MPI_SSI_boot_low_priority is \"much\"; allowed: an integer\n", done.stderr)
        self.assertIn("tool selected high", done.stdout)
        # Above 100 counts as 100; among equals the first.
        done = self.boot(folder, "leaf", LAM_MPI_SSI_boot_low_priority="5000", LAM_MPI_SSI_boot_high_priority="100")
        self.assertIn("tool selected high", done.stdout)

    def test_a_named_module_is_the_only_one_that_is_opened(self):
        self.module("low", 10)
        folder = self.module("high", 30)
        done = self.boot(folder, "leaf", LAM_MPI_SSI_boot="low")
        self.assertEqual(done.stdout.splitlines(), [
            "low open", "low init leaf", "tool selected low, get_nodeid no", "low finalize", "low close"])
        done = self.boot(folder, "leaf", LAM_MPI_SSI_boot="lost")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, "tool: LAM_MPI_SSI_boot is lost, and there is no such module\n")
        done = self.boot(folder, "leaf", LAM_MPI_SSI_boot="low", EXAMPLE_low_init="0")
        self.assertEqual(done.returncode, 3)
        self.assertEqual(done.stdout.splitlines(), ["low open", "low init leaf", "low finalize", "low close"])
        self.assertEqual(done.stderr,
                         "tool: LAM_MPI_SSI_boot is low, and this module does not want to be used here\n")

    def test_who_does_not_want_to_is_left_out(self):
        self.module("low", 10)
        folder = self.module("high", 30)
        done = self.boot(folder, "leaf", EXAMPLE_high_open="0")
        self.assertEqual(done.stdout.splitlines(), [
            "high open", "low open", "low init leaf", "tool selected low, get_nodeid no", "low finalize", "low close"])
        done = self.boot(folder, "leaf", EXAMPLE_high_init="0")
        self.assertIn("high finalize\nhigh close\ntool selected low", done.stdout)
        # What is built in is always there.
        done = self.boot(folder, "leaf", EXAMPLE_high_init="0", EXAMPLE_low_open="0")
        self.assertEqual(done.stdout.splitlines(), [
            "high open", "low open", "high init leaf", "high finalize", "high close",
            "tool selected local, get_nodeid yes"])

    def test_the_search_path_has_several_folders_and_both_names_of_files(self):
        first = self.module("one", 10, file="ssi_boot_{}.so")
        done = self.boot(f"/no/such/folder:{first}:", "leaf")
        self.assertIn("tool selected one", done.stdout)
        self.assertEqual(done.stderr, "")

    def test_files_that_are_no_modules_are_reported_and_left_out(self):
        folder = self.module("good", 10)
        (folder / "lam_ssi_boot_text_module.so").write_text("no object\n")
        (folder / "lam_ssi_boot_other_module.so").write_bytes((folder / "lam_ssi_boot_good_module.so").read_bytes())
        (folder / "unrelated.so").write_text("no object\n")
        done = self.boot(folder, "leaf")
        self.assertIn("tool selected good", done.stdout)
        errors = done.stderr.splitlines()
        self.assertEqual(len(errors), 2, errors)
        self.assertIn("boot module other", errors[0])
        self.assertIn("it does not export lam_ssi_boot_other_module", errors[0])
        self.assertIn("boot module text", errors[1])

    def test_failures_are_counted_and_cleaned_up_when_asked(self):
        folder = self.module("alone", 10)
        (self.folder / "some").write_text("inky\nbroken\nclyde\n")
        done = self.boot(folder, hosts="some")
        self.assertEqual(done.returncode, 1)
        self.assertIn("tool status -1 started 2: inky clyde\n", done.stdout)
        self.assertNotIn("send_universe_info", done.stdout)
        done = self.boot(folder, hosts="some", LAM_MPI_SSI_boot_base_cleanup="1")
        self.assertIn("alone wipe inky\nalone wipe clyde\ntool status -1 started 0:\n", done.stdout)
        done = self.boot(folder, hosts="some", LAM_MPI_SSI_boot_base_cleanup="maybe")
        self.assertIn("tool: LAM_MPI_SSI_boot_base_cleanup is \"maybe\"; allowed: 0, 1\n", done.stderr)

    def test_both_names_of_the_window(self):
        folder = self.module("alone", 10)
        (self.folder / "many").write_text("".join(f"host{number}\n" for number in range(9)))

        def most_awaited(**settings):
            done = self.boot(folder, hosts="many", EXAMPLE_algorithm="windowed", **settings)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            return max(int(line.split()[2]) for line in done.stdout.splitlines() if " receive_lamd_info " in line)

        self.assertEqual(most_awaited(), 5)
        self.assertEqual(most_awaited(LAM_MPI_SSI_boot_base_linear_win_size="3"), 3)
        self.assertEqual(most_awaited(LAM_MPI_SSI_boot_base_window_size="7"), 7)
        self.assertEqual(most_awaited(LAM_MPI_SSI_boot_base_linear_win_size="2", LAM_MPI_SSI_boot_base_window_size="7"),
                         2)
        done = self.boot(folder, hosts="many", EXAMPLE_algorithm="windowed", LAM_MPI_SSI_boot_base_window_size="0")
        self.assertEqual(done.returncode, 1)
        self.assertIn("tool: LAM_MPI_SSI_boot_base_window_size is \"0\"; allowed: 1 to 2147483647\n", done.stderr)

    def test_the_threaded_algorithm_over_a_module(self):
        folder = self.module("alone", 10)
        (self.folder / "few").write_text("".join(f"host{number}\n" for number in range(4)))
        done = self.boot(folder, hosts="few", EXAMPLE_algorithm="thread", LAM_MPI_SSI_boot_base_thread_count="2")
        self.assertIn("tool status 0 started 4: host0 host1 host2 host3\n", done.stdout)
        done = self.boot(folder, hosts="few", EXAMPLE_algorithm="thread", LAM_MPI_SSI_boot_base_thread_count="513")
        self.assertIn("tool: LAM_MPI_SSI_boot_base_thread_count is \"513\"; allowed: 1 to 512\n", done.stderr)

    def boot_local(self, hosts, **settings):
        (self.folder / "local-hosts").write_text(hosts)
        environment = dict(settings, PATH=f"{self.folder}:{BUILD}/control/boot:{os.environ['PATH']}", LAM_MPI_SSI_boot="local")
        # Returns when all processes have closed the pipes: the daemons too have ended.
        return self.boot("/no/such/folder", hosts="local-hosts", **environment)

    def test_the_local_module_boots_daemons_that_learn_the_universe(self):
        done = self.boot_local("inky cpu=2\npinky\nclyde cpu=3\n")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("tool selected local, get_nodeid yes\n", done.stdout)
        self.assertIn("tool status 0 started 3: inky pinky clyde\n", done.stdout)
        for node in range(3):
            self.assertIn(f"daemon {node} has the universe\n", done.stdout)
            self.assertEqual((self.folder / f"universe.{node}.new").read_text(),
                             "n0 inky 2 cpus port 7000\nn1 pinky 1 cpus port 7001\nn2 clyde 3 cpus port 7002\n")

    def test_the_tree_algorithm_over_the_local_module(self):
        """Each node but the first and the last has a helper, whose daemons say nothing here: they are its children."""
        for file in self.folder.glob("universe.*"):
            file.unlink()
        done = self.boot_local("inky cpu=2\npinky\nclyde cpu=3\nblinky\n", LAM_MPI_SSI_boot_base_algorithm="tree",
                               LAM_MPI_SSI_boot_base_tree_degree="1")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("tool status 0 started 4: inky pinky clyde blinky\n", done.stdout)
        universe = "n0 inky 2 cpus port 7000\nn1 pinky 1 cpus port 7001\nn2 clyde 3 cpus port 7002\n" \
                   "n3 blinky 1 cpus port 7003\n"
        files = [self.folder / f"universe.{node}.new" for node in range(4)]
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and not all(file.exists() and file.read_text() == universe for file in files):
            time.sleep(0.02)
        self.assertEqual([file.read_text() for file in files], [universe] * 4)

    def test_an_agent_that_finds_no_more_than_bin(self):
        """The daemon lies in libexec of an installation: hboot, which is in bin, knows where."""
        prefix = self.folder / "installation"
        for place, program in (("bin", BUILD / "control/boot/hboot"), ("libexec/openlapi", self.daemon)):
            (prefix / place).mkdir(parents=True)
            shutil.copy(program, prefix / place)
        (self.folder / "hboot-conf").write_text("hboot lamd $inet_topo $debug\n")
        (self.folder / "two").write_text("inky\npinky\n")
        done = self.boot("/no/such/folder", hosts="two", conf="hboot-conf", LAM_MPI_SSI_boot="local",
                         PATH=f"{prefix}/bin:/usr/bin:/bin")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("tool status 0 started 2: inky pinky\n", done.stdout)

    def test_the_local_module_says_which_daemon_cannot_be_started(self):
        done = self.boot_local(f"inky prefix={self.folder}/nowhere\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"tool: {self.folder}/nowhere/bin/lamd cannot be started: No such file or directory\n", done.stderr)
        self.assertIn("tool status -1 started 0:\n", done.stdout)

    def test_the_local_module_refuses_other_machines_unless_it_was_asked_for(self):
        (self.folder / "far").write_text("192.0.2.7\n")
        done = self.boot("/no/such/folder", hosts="far")
        self.assertEqual(done.returncode, 1)
        self.assertIn("tool selected local", done.stdout)
        self.assertIn("tool: node n0 (192.0.2.7) is not this machine", done.stderr)

    def test_only_the_interface_is_exported(self):
        names = run("nm", "-D", "--defined-only", self.library / "liblamssi.so").split()[2::3]
        beginnings = ("_lam_few", "al_", "ao_", "bhostparse", "hbootparse", "lam_", "lamnet_", "sfh_argv_", "show_help")
        self.assertEqual([name for name in names if not name.startswith(beginnings)], [])
        self.assertIn("lam_ssi_boot_optd", names)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
