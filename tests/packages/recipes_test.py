#!/usr/bin/env python3
"""The recipe for Spack agrees with what Meson is told, as far as can be said without Spack.

usage: recipes_test.py"""
import ast
import re
import sys
import unittest

from package_sources import SOURCE, VERSION

RECIPE = SOURCE / "deploy/spack/package.py"


def calls(tree, name):
    """The first arguments of all calls of a directive."""
    return [node.args[0].value for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name]


class SpackTest(unittest.TestCase):
    def setUp(self):
        self.text = RECIPE.read_text()
        self.tree = ast.parse(self.text)

    def test_it_compiles(self):
        compile(self.tree, RECIPE, "exec")

    def test_its_version_is_that_of_the_sources(self):
        self.assertEqual(calls(self.tree, "version"), [VERSION])

    def test_its_variants_are_the_features_of_the_build(self):
        features = re.findall(r"^option\('(\w+)', type: 'feature'", (SOURCE / "meson_options.txt").read_text(), re.M)
        self.assertEqual(sorted(calls(self.tree, "variant")), sorted(features))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
