#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""btraced report: the page's data is what coverage, profile and timeline say; a browser draws it from disk
without a word and without asking for anything else, whatever the names and the source are, and whatever
has no room. Tests report.c and report.html."""

import base64
import collections
import json
import os
import random
import re
import shutil
import subprocess

from browser import Browser
from replay_gdb import BTRACED, DEMO, PATIENCE, Suite, environment, equal, expect, folder, has, same_list

suite = Suite()
RECORDING, ELF = DEMO / "recording", DEMO / "crash.elf"
SOURCES = ["--source-map", f"./={DEMO}/"]
LEAST = 262144
SEED = int(os.environ.get("BTRACED_SEED", "1"))
DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
# What HTML, JSON and JavaScript find special, what is no text, what turns text around.
NASTY = ["</script>", "<!--", "<script>", "-->", "]]>", "'", '"', "\\", "&lt;", "`${top}`", "\n", "\r", "\t",
         "\x01", "\x1b[31m", "\x7f", "\u2028", "\u202e", "é", "\U0001f41b", "%", "@DATA@", "<img src=x onerror=hostile()>"]
BROWSERS = []


def btraced(what, *options, elf=ELF, recording=RECORDING, code=0):
    done = subprocess.run([BTRACED, what, "--elf", str(elf), *map(str, options), str(recording)],
                          capture_output=True, timeout=PATIENCE, env=environment())
    equal(done.returncode, code, f"exit code of btraced {what}: {done.stderr.decode()}")
    return done.stdout.decode(errors="surrogateescape")


class Page:
    def __init__(self, *options, **more):
        self.path = folder() / "page.html"
        btraced("report", "-o", self.path, *options, **more)
        self.html = self.path.read_text(encoding="utf-8")  # all of it is UTF-8
        self.data = json.loads(DATA.search(self.html)[1])
        self.files = [file for file in self.data["files"] if file]
        self.sources = {source["path"]: source for source in self.data["sources"] if source}

    def opened(self):
        """The browser, with this page."""
        if not BROWSERS:
            BROWSERS.append(Browser())
        BROWSERS[0].open(self.path)
        equal(BROWSERS[0].value("document.documentElement.dataset.ready"), "yes", "the page's script")
        BROWSERS[0].quiet(self.path)
        return BROWSERS[0]


def lcov(text):
    """{path: (lines, functions, branches)} as the page has them."""
    found = {}
    for row in text.splitlines():
        key, _, rest = row.partition(":")
        words = rest.split(",")
        if key == "SF":
            lines, functions, branches, at = [], [], [], {}
            found[rest] = lines, functions, branches
        elif key == "DA":
            lines.append([int(words[0]), int(words[1])])
        elif key == "FN":
            at[words[1]] = int(words[0])
        elif key == "FNDA":
            functions.append([at[words[1]], int(words[0]), words[1]])
        elif key == "BRDA":
            count = 0 if words[3] == "-" else int(words[3])
            if words[2] == "0":
                branches.append([int(words[0]), count])
            else:
                branches[-1].append(count)
    return found


def stacks(data):
    """The profile's folded stacks, from the page's paths."""
    found = collections.Counter()
    for core in data["cores"]:
        names = []
        for function, parent, exception, _, own, *_ in core["paths"]:
            name = data["functions"][function][0]
            if exception >= 0:
                name += f" [{core['exceptions'][str(exception)]}]"
            names.append(f"{core['name'] if parent < 0 else names[parent]};{name}")
            found[names[-1]] += own
    return +found


@suite.test("report: the demo: data as coverage, profile and timeline have it")
def _():
    page = Page(*SOURCES)
    text = btraced("coverage", *SOURCES)
    for path, (lines, functions, branches) in lcov(text).items():
        [file] = [file for file in page.files if file["path"] == path]
        same_list([row[:2] for row in file["lines"]], lines, f"lines of {path}")
        same_list(file["functions"], functions, f"functions of {path}")
        same_list(file["branches"], branches, f"branches of {path}")
    equal({file["path"] for file in page.files}, set(lcov(text)), "files")
    total = has(btraced("coverage", "--format", "text"), r"^all +(\d+)/(\d+).* (\d+)/(\d+).* (\d+)/(\d+)")
    equal(page.data["sum"], [int(n) for n in total.groups()], "sums")
    equal(page.data["loss"]["text"], has(text, "^# btraced: (.*)$")[1], "what was lost")
    folded = collections.Counter()
    for row in btraced("profile", "--format", "folded").splitlines():
        stack, _, count = row.rpartition(" ")
        folded[stack] += int(count)
    equal(stacks(page.data), folded, "stacks")
    lines = {f"{file['path']}:{line}": n for file in page.files for line, _, n in file["lines"]}
    for row in re.finditer(r"^ +(\d+) +[\d.]+%  (\S+:\d+)$", btraced("profile", "--format", "text", *SOURCES),
                           re.MULTILINE):
        equal(lines[row[2]], int(row[1]), f"instructions of {row[2]}")
    equal(sum(lines.values()), page.data["loss"]["instructions"], "instructions of all lines")
    for name in ("crash.c", "start.S"):
        equal(page.sources[f"{DEMO}/{name}"]["source"], (DEMO / name).read_text(), name)
    timeline = folder() / "timeline"
    btraced("timeline", "-o", timeline)
    expect(base64.b64decode(page.data["timeline"]["perfetto"]) == timeline.read_bytes(),
           "the timeline is not that of `btraced timeline`")


@suite.test("report: a browser draws it from disk: figures, timeline, flame graph, source, keys, print")
def _():
    page = Page(*SOURCES)
    browser = page.opened()
    loss, total = page.data["loss"], page.data["sum"]
    text = browser.value("document.body.innerText")
    for figure in (f"{loss['instructions']:,} instructions", f"{total[0]}/{total[1]} {100 * total[0] // total[1]}%",
                   f"{total[4]}/{total[5]}", "The trace is complete", loss["text"]):
        expect(figure in text, f"the page lacks {figure!r}")
    shown = browser.value("[...document.querySelectorAll('#functions tbody tr')].map(r => "
                          "[...r.cells].map(c => c.innerText.trim().replaceAll(',', '')))")
    listed = re.findall(r"^ +(\d+) +([\d.]+)% +(\d+) +(\d+)  (.+)$", btraced("profile", "--format", "text"),
                        re.MULTILINE)
    expect(listed, "no functions in the profile")
    equal([(r[0], r[1].replace("< 0.1", "0.0").split()[0], *r[3:]) for r in shown], listed, "functions")
    raised = sum(path[3] for path in page.data["cores"][0]["paths"] if path[2] >= 0)
    equal(browser.value("document.getElementById('raised').textContent"), f"{raised}", "exceptions")
    browser.click("#canvas")
    for key, wanted in (("+", "view.to - view.from < 0.6 * (span.to - span.from)"), ("ArrowRight", "view.from > span.from"),
                        ("0", "view.from === span.from && view.to === span.to"),
                        ("n", "selected && said.textContent.includes(selected.name)")):
        browser.press(key)
        browser.until(wanted, f"key {key}")
    at = browser.value("(() => { const b = canvas.getBoundingClientRect(); return [b.x + 300, b.y + 50]; })()")
    browser.mouse("mouseWheel", *at, deltaX=0, deltaY=-100)
    browser.until("view.to - view.from < span.to - span.from", "the wheel")
    expect(browser.value("new Set(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data).size > 9"),
           "nothing is drawn")
    wide = "document.querySelectorAll('#flame button')[3].textContent"
    name = browser.value(wide)
    browser.click("#flame button:nth-child(4)")
    browser.until(f"document.querySelector('#flame button').textContent === {json.dumps(name)}", "a click")
    browser.press("Escape")
    browser.until(f"document.querySelectorAll('#flame button').length > 3 && {wide} === {json.dumps(name)}", "Escape")
    never = next(row[0] for file in page.files for row in file["lines"] if not row[1])
    browser.value(f"new Promise(done => {{ addEventListener('hashchange', () => setTimeout(done)); "
                  f"location.hash = '#crash.c:{never}'; }})")
    row = browser.value("document.querySelector('tr.found.never').innerText")
    expect((DEMO / "crash.c").read_text().splitlines()[never - 1].strip() in row, f"line {never} is {row!r}")
    browser.picture(390, 800, dark=True)
    equal(browser.value("document.documentElement.scrollWidth"), 390, "width of a narrow page")
    equal(browser.value("getComputedStyle(document.body).backgroundColor"), "rgb(21, 24, 28)", "dark")
    expect(browser.printed().startswith(b"%PDF"), "no PDF")
    browser.picture(1280, 1000)
    browser.quiet(page.path)


def hostile_program(place, rng):
    """The demo's program with other names of the same lengths, and a source that fits."""
    def text(length):
        while True:
            made = "".join(rng.choices(NASTY, k=rng.randrange(1, 4)))
            size = len(made.encode())
            if size <= length:
                return made + "x" * (length - size)
    function, file = text(len("read_arguments")), "<!--\"" + rng.choice("\x01'\\&") + "b"
    data = ELF.read_bytes()
    for old, new in ((b"read_arguments\0", function), (b"crash.c\0", file)):
        expect(old in data, f"the program has no {old}")
        data = data.replace(old, new.encode().ljust(len(old) - 1, b"x") + b"\0")
    elf = place / "hostile.elf"
    elf.write_bytes(data)
    source = "".join(rng.choices(NASTY, k=2000)).encode() + b"\xff\xfe\xc3<\xed\xa0\x80\0</script>\n"
    (place / f"{file}x"[:7]).write_bytes(source)
    return elf, function, source


@suite.test(f"report: names, paths and source that are hostile (seed {SEED})")
def _():
    rng = random.Random(SEED)
    plain = Page(*SOURCES)
    for _ in range(3):
        place = folder()
        elf, function, source = hostile_program(place, rng)
        page = Page("--source-map", f"./={place}/", elf=elf)
        lacks = page.html.count("</") - plain.html.count("</"), page.html.count("<!--") - plain.html.count("<!--")
        equal(lacks, (0, 0), "tags that came from the data")
        expect(function in [entry[0] for entry in page.data["functions"]], f"no function {function!r}")
        [text] = [s["source"] for s in page.sources.values() if "source" in s]
        expect(text == source.decode(errors="replace"), "the source is another one")
        browser = page.opened()
        browser.value("files.forEach(f => openLine(f.path, 1))")
        browser.value("(function all(d) { d.open = true; })(document.querySelector('#tree details details'))")
        equal(browser.value("[typeof window.hostile, document.scripts.length, document.images.length,"
                            " document.querySelectorAll('iframe, object, embed, [onerror]').length]"),
              ["undefined", 2, 0, 0], "what the page became")
        expect(browser.value(f"document.body.textContent.includes(plain({json.dumps(function)}))"),
               f"the page lacks {function!r}")
        browser.quiet(page.path)


@suite.test("report: a bounded size; what has no room is said")
def _():
    whole = Page(*SOURCES)
    calls = len(re.findall(rb"\x48\x01", base64.b64decode(whole.data["timeline"]["perfetto"])))
    expect(calls > 1000 and not whole.data["timeline"]["leftOut"], "the demo's calls do not all fit")
    place = folder()
    shutil.copy(DEMO / "start.S", place)
    (place / "crash.c").write_text((DEMO / "crash.c").read_text() + "//\x01\n" * 20000)
    small = Page("--source-map", f"./={place}/", "--max-size", LEAST)
    expect(small.path.stat().st_size <= LEAST, f"{small.path.stat().st_size} bytes")
    expect(small.data["timeline"]["leftOut"] > 0, "nothing of the timeline is left out")
    expect(small.data["sum"] == whole.data["sum"], "the sums are others")
    has(small.sources[f"{place}/crash.c"]["noSource"], "no room")
    browser = small.opened()
    text = browser.value("document.getElementById('leftout').innerText")
    has(text, rf"Timeline: {small.data['timeline']['leftOut']:,} calls")
    has(text, r"Source text of 1 of 2 files: .*crash\.c \(no room")
    browser.quiet(small.path)


@suite.test("report: no source at hand, no line table, bad options")
def _():
    place = folder()
    (place / "crash.c").mkdir()
    os.mkfifo(place / "start.S")
    page = Page("--source-map", f"./={place}/")
    for name in ("crash.c", "start.S"):
        has(page.sources[f"{place}/{name}"]["noSource"], "no file")
    page = Page("--source-map", "./=/nowhere/")
    browser = page.opened()
    browser.value("files.forEach(f => openLine(f.path, 1))")
    has(browser.value("document.body.innerText"), r"The source is not at hand \(No such file or directory\)")
    bare = place / "bare.elf"
    subprocess.run(["arm-none-eabi-objcopy", "-g", str(ELF), str(bare)], check=True, timeout=PATIENCE)
    page = Page(elf=bare)
    browser = page.opened()
    has(browser.value("document.body.innerText"), "no line table")
    for options in (["--max-size", LEAST - 1], ["--from", "1"], ["--format", "text"], ["--objects"]):
        btraced("report", "-o", place / "x", *options, code=2)


@suite.test("report: damaged trace: gaps with their cause, and that trace is missing")
def _():
    place = folder() / "recording"
    shutil.copytree(RECORDING, place)
    raw = place / "buffer_0.bin"
    data = raw.read_bytes()
    raw.write_bytes(data[:3001] + bytes([0x55, 0xaa, 0x3b]) * 40 + data[3200:])
    page = Page(*SOURCES, recording=place)
    text = has(btraced("coverage", recording=place), "^# btraced: (.*)$")[1]
    equal(page.data["loss"]["text"], text, "what was lost")
    expect(set(page.data["loss"]["gaps"]) - {"debug", "filter"}, f"no gap: {text}")
    for cause, count in page.data["loss"]["gaps"].items():
        has(text, rf"\b{cause} {count}\b")
    browser = page.opened()
    equal(browser.value("document.getElementById('verdict').textContent"), "Trace is missing.", "verdict")
    browser.click("#gaps td button")
    browser.until("selected && selected.name.startsWith('gap: ') && selected.begin >= view.from && "
                  "selected.end <= view.to", "the button of a gap")
    browser.quiet(page.path)


try:
    suite.run()
finally:
    for one in BROWSERS:
        one.__exit__()
