#!/usr/bin/env python3
"""Modules that were compiled with our headers run in an untouched LAM/MPI 7.1.4.

    lam_modules_test.py FOLDER    where ssi_rpi_plain.so and ssi_rpi_newer.so are, built from tests/unit/rpi"""
import pathlib
import shutil
import sys
import unittest

from unpacked_lam import UnpackedLam

HERE = pathlib.Path(__file__).resolve().parent
BUILT = pathlib.Path(sys.argv.pop())


class LamModulesTest(unittest.TestCase):
    def test_lam_loads_modules_of_both_interfaces(self):
        with UnpackedLam() as lam:
            modules = lam.home / "modules"
            modules.mkdir()
            for name in ("plain", "newer"):
                shutil.copy(BUILT / f"ssi_rpi_{name}.so", modules)
            program = lam.compile(HERE / "lam_self.c", "lam_self")
            for name, largest_tag in (("plain", 1000), ("newer", 1000), ("tcp", 2147483647)):
                with self.subTest(name):
                    printed = lam.mpirun(1, program, base_module_path=modules, rpi=name)
                    self.assertEqual(printed, f"1000 messages, tags to {largest_tag}\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
