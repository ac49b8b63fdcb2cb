#!/usr/bin/env python3
"""The HTML of the man pages: every link leads somewhere, every reference to a page of ours is a link.

usage: html_pages_test.py MAKE_HTML MAN_FOLDER BUILT_MAN_FOLDER"""
import html.parser
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

MAKE_HTML, MAN, BUILT_MAN = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])


def pages_of(*folders):
    return [page for folder in folders for page in folder.glob("man*/*.[0-9]")]


class Page(html.parser.HTMLParser):
    """Where a page's links lead, what can be led to in it, and its text outside of links."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors, self.loose_text, self.depth = [], set(), "", 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.anchors.add(attributes.get("id"))
        if "href" in attributes:
            self.links.append(attributes["href"])
        self.depth += tag == "a"

    def handle_endtag(self, tag):
        self.depth -= tag == "a"

    def handle_data(self, data):
        if self.depth == 0:
            self.loose_text += data


class HtmlPages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="openlapi-html-")
        # Whatever the encoding of the locale is: what Python has here knows ASCII alone.
        ascii_locale = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
        subprocess.run([sys.executable, MAKE_HTML, MAN, BUILT_MAN, cls.folder.name], check=True, stdout=subprocess.DEVNULL,
                       env=ascii_locale)
        root = pathlib.Path(cls.folder.name)
        cls.pages = {file.name: Page(file.read_text(encoding="utf-8")) for file in root.glob("*.html")}
        cls.files = {file.name for file in root.iterdir()}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_every_link_leads_to_a_page_or_a_place_in_it(self):
        for name, page in self.pages.items():
            for link in page.links:
                file, _, anchor = link.partition("#")
                self.assertIn(file or name, self.files, f"{name}: {link}")
                if anchor:
                    self.assertIn(anchor, self.pages[file or name].anchors, f"{name}: {link}")

    def test_the_number_of_a_code_is_found(self):
        index = (pathlib.Path(self.folder.name) / "index.html").read_text(encoding="utf-8")
        self.assertRegex(index, r'data-words="[^"]* ?434 [^"]*"><a href="LAPI_Msg_string')

    def test_every_reference_to_a_page_of_ours_is_a_link(self):
        ours = {page.name for page in pages_of(MAN, BUILT_MAN)}
        for name, page in self.pages.items():
            own = name.removesuffix(".html")
            loose = {f"{word}.{section}" for word, section in re.findall(r"([\w.-]+)\((\d)\)", page.loose_text)}
            self.assertLessEqual(loose & ours, {own}, name)

    def test_the_index_has_every_page(self):
        self.assertLessEqual(self.pages.keys() - {"index.html"}, set(self.pages["index.html"].links))
        text = pathlib.Path(self.folder.name, "index.html").read_text(encoding="utf-8")
        for page in pages_of(MAN, BUILT_MAN):
            self.assertIn(f'.html">{page.stem}</a> - ', text)

    def test_the_index_has_the_words_of_pages(self):
        text = pathlib.Path(self.folder.name, "index.html").read_text(encoding="utf-8")
        words = {name: set(found.split()) for found, name in re.findall(r'<li data-words="([^"]*)"><a [^>]*>([^<]*)', text)}
        for name, wanted in {"lapi": {"lapi_use_shm", "openlapi_packet_auth"}, "lapirun": {"--hostfile", "universe"},
                             "LAPI_Rmw": {"compare_and_swap", "lapi_err_rmw_op"}}.items():
            self.assertLessEqual(wanted, words[name])
        self.assertNotIn("openlapi_packet_auth", words["LAPI_Rmw"])

    def test_meson_compile_docs_makes_them_all(self):
        """In a project that has nothing else."""
        with tempfile.TemporaryDirectory(prefix="openlapi-docs-") as folder:
            project, build = pathlib.Path(folder), pathlib.Path(folder, "build")
            shutil.copytree(MAN, project / "man")
            (project / "meson.build").write_text("project('pages')\nsubdir('man')\n", encoding="ascii")
            for words in (["setup", build, project], ["compile", "-C", build, "docs"]):
                subprocess.run(["meson", *words], check=True, stdout=subprocess.DEVNULL)
            made = {file.name: file.read_bytes() for file in (build / "html").iterdir()}
        for name in self.files:
            self.assertEqual(made.get(name), pathlib.Path(self.folder.name, name).read_bytes(), name)

    def test_an_empty_line_of_an_example_is_one(self):
        text = pathlib.Path(self.folder.name, "lapi-tutorial.7.html").read_text(encoding="utf-8")
        examples = re.findall(r"<pre>(.*?)</pre>", text, re.S)
        self.assertTrue(any("#include &lt;stdlib.h&gt;\n\nstatic void fail(" in example for example in examples))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
