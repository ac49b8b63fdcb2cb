#!/usr/bin/env python3
"""The man pages as HTML, by mandoc: a file for each page, references made links, and an index by sections, in which
all words of all pages can be searched.

usage: make_html.py MAN_FOLDER BUILT_MAN_FOLDER HTML_FOLDER

In the folder that is built are pages that refer to others."""
import html
import pathlib
import re
import shutil
import subprocess
import sys

SECTIONS = {"1": "Commands", "3": "Calls", "7": "Overviews and guides"}
REFERENCE = re.compile(r"<([bi])>([\w.-]+)</\1>\((\d)\)")
EXAMPLE = re.compile(r"^\.EX\n.*?^\.EE$", re.S | re.M)
LINE_BEGINS = "\ue000"  # in no page; mandoc writes it as &#xE000;
EMPTY_OR_INDENTED = re.compile(r"^(?= |$)", re.M)
SAME_PAGE = re.compile(r"^\.so (man\d/\S+)$", re.M)
STYLE = """
body { font-family: sans-serif; line-height: 1.4; max-width: 56em; margin: 1em auto; padding: 0 1em; }
pre, code { font-family: monospace; background: #f4f4f4; }
pre { padding: 0.6em; overflow-x: auto; }
a { text-decoration: none; }
.permalink { color: inherit; }
table.head, table.foot { width: 100%; color: #555; }
.head-vol { text-align: center; }
.head-rtitle, .foot-os { text-align: right; }
dd { margin-bottom: 0.5em; }
"""
# Leaves those entries whose page has all the words, or beginnings of them.
SEARCH = """
const field = document.getElementById('words');
field.addEventListener('input', () => {
  const words = field.value.toLowerCase().split(/\\s+/);
  for (const entry of document.querySelectorAll('li')) {
    const title = entry.textContent.toLowerCase(), page = ' ' + entry.dataset.words;
    const has = word => title.includes(word) || page.includes(' ' + word) || page.includes('_' + word);
    entry.hidden = !words.every(has);
  }
});
"""


def file_of(page):
    return page.name + ".html"


def linked(text, pages):
    """What is printed as name(section) becomes a link where there is such a page."""
    def link(found):
        _, name, number = found.groups()
        file = pages.get(f"{name}.{number}")
        return f'<a href="{file}">{found.group()}</a>' if file else found.group()
    return REFERENCE.sub(link, text)


def title_of(page):
    """What stands behind the dash in NAME."""
    name = re.search(r"^\.SH NAME\n(.*?)^\.SH", page.read_text(encoding="utf-8"), re.M | re.S).group(1)
    return name.split(r" \- ", 1)[1].replace(r"\-", "-").strip()


def words_of(page):
    """Every word once, in small letters, also of what looks like LAPI_USE_SHM or --hostfile, and numbers of codes."""
    text = html.unescape(re.sub(r"<[^>]*>", " ", page)).lower()
    return " ".join(sorted(set(re.findall(r"-{0,2}[a-z_][\w.-]*\w|\b\d{3}\b", text))))


def entry(name, file, title, words):
    return (f'<li data-words="{html.escape(words)}"><a href="{file}">{html.escape(name)}</a> - '
            f"{html.escape(title)}</li>")


def index_of(entries):
    lists = "".join(f"<h2>{number}: {SECTIONS[number]}</h2>\n<ul>\n" + "\n".join(entries[number]) + "\n</ul>\n"
                    for number in sorted(entries))
    return ('<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>openlapi: manual pages</title>'
            '<link rel="stylesheet" href="style.css"></head>\n<body><h1>openlapi: manual pages</h1>\n'
            '<p><input id="words" type="search" placeholder="words" autofocus></p>\n'
            f"{lists}<script>{SEARCH}</script></body></html>\n")


def converted(page):
    # mandoc drops the empty lines of examples, and puts one before a line that begins with a blank.
    text = page.read_text(encoding="utf-8")
    text = EXAMPLE.sub(lambda example: EMPTY_OR_INDENTED.sub(LINE_BEGINS, example.group()), text)
    command = ["mandoc", "-W", "error,stop", "-T", "html", "-O", "style=style.css"]
    done = subprocess.run(command, input=text, check=True, capture_output=True, encoding="utf-8")
    text = done.stdout.replace("&#xE000;", "")
    return text.replace("<body>", '<body>\n<p><a href="index.html">All pages</a></p>', 1)


def make(man, built, target):
    sources = {}  # of each page's name: where its text is
    for page in sorted([*man.glob("man*/*.[0-9]"), *built.glob("man*/*.[0-9]")], key=lambda page: page.name):
        same = SAME_PAGE.search(page.read_text(encoding="utf-8"))
        sources[page.name] = man / same.group(1) if same else page
    pages = {name: file_of(source) for name, source in sources.items()}
    texts = {source: converted(source) for source in set(sources.values())}
    target.mkdir(parents=True, exist_ok=True)
    for source, text in texts.items():
        (target / file_of(source)).write_text(linked(text, pages), encoding="utf-8")
    entries = {}
    for name, source in sources.items():
        stem, _, section = name.rpartition(".")
        entries.setdefault(section, []).append(entry(stem, pages[name], title_of(source), words_of(texts[source])))
    (target / "style.css").write_text(STYLE, encoding="utf-8")
    (target / "index.html").write_text(index_of(entries), encoding="utf-8")


def main(arguments):
    if len(arguments) != 3:
        sys.exit(__doc__)
    if not shutil.which("mandoc"):
        sys.exit("mandoc is not here: deploy/install_packages docs")
    make(*map(pathlib.Path, arguments))
    print(f"{arguments[2]}/index.html")


if __name__ == "__main__":
    main(sys.argv[1:])
