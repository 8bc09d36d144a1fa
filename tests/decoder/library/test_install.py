#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The decoder as an installed library: names, dependencies, headers, man pages, and the two
examples, which list what `btraced decode` lists.

usage: test_install.py [full]     full: each source of each capture, otherwise one of each type"""

import configparser
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
DATA = Path(os.environ.get("BTRACED_DATA", ROOT.parent / "shared" / "data"))
BTRACED = str(ROOT / "build" / "btraced")
DEMO = ROOT / "tests" / "demo"
FOREIGN = ("usb", "uv", "ssl", "crypto", "ftdi", "microhttpd", "elf", "ini", "pthread")
REGISTERS = ("ETMCR", "ETMIDR", "ETMCCER", "ETMTRACEIDR", "ETMSYNCFR", "ETMCCR", "TRCCONFIGR",
             "TRCTRACEIDR", "TRCIDR0", "TRCIDR1", "TRCIDR2", "TRCIDR8", "TRCDEVARCH")
WARNINGS = ["-Wall", "-Wextra", "-Werror"]
failed = 0


def run(*command, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=600, **options)
    if done.returncode:
        raise AssertionError(f"{' '.join(map(str, command))[:300]}: {done.stderr[-800:]}")
    return done.stdout


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def test(name, function, *arguments):
    global failed
    try:
        function(*arguments)
        print(f"PASS library: {name}", flush=True)
    except (AssertionError, subprocess.TimeoutExpired, OSError) as error:
        print(f"FAIL library: {name}: {error}", flush=True)
        failed += 1


class Installed:
    """What `make install` put into a folder, and programs compiled against it."""

    def __init__(self, folder):
        self.folder = folder
        self.root = folder / "root"
        run("make", "-C", str(ROOT), "install", f"DESTDIR={self.root}", "PREFIX=/usr/local")
        self.prefix = self.root / "usr/local"
        self.lib = self.prefix / "lib"
        self.environment = {**os.environ, "PKG_CONFIG_SYSROOT_DIR": str(self.root),
                            "PKG_CONFIG_PATH": str(self.lib / "pkgconfig"),
                            "LD_LIBRARY_PATH": str(self.lib)}

    def shell(self, line):
        return run("sh", "-c", line, env=self.environment, cwd=self.folder)

    def run(self, *command, **options):
        return run(*command, env=self.environment, cwd=self.folder, **options)

    def example(self, name):
        shutil.copy(ROOT / "docs/examples" / f"{name}.c", self.folder)
        self.shell(f"cc {name}.c $(pkg-config --cflags --libs btrace) -o {name}")
        self.run("cc", *WARNINGS, "-std=gnu11", f"-I{self.prefix}/include", "-fsyntax-only",
                 f"{name}.c")


class Recording:
    """A snapshot folder, as far as the examples need it."""

    def __init__(self, folder):
        self.folder = folder
        devices = {}
        for path in self.ini("snapshot.ini")["device_list"].values():
            device = self.ini(path)
            devices[device["device"]["name"]] = device
        trace = self.ini("trace.ini")
        self.sources = []
        cores = {source: core for core, source in trace["core_trace_sources"].items()}
        for name, buffers in trace["source_buffers"].items():
            buffer = next(trace[b] for b in trace.sections()
                          if trace[b].get("name") == buffers.split(",")[0])
            if name in devices and name in cores:
                core = cores[name]
                self.sources.append((name, devices[name], core, devices[core], buffer))

    def ini(self, name):
        parser = configparser.ConfigParser(strict=False, interpolation=None,
                                           delimiters=("=",),
                                           inline_comment_prefixes=(";", "#"))
        parser.optionxform = str
        parser.read(self.folder / name)
        return parser


def arguments_of(recording, source, folder):
    """Command line of the example: the way from a snapshot's files to registers and bytes."""
    _, device, _, core, buffer = source
    frames = {"coresight": "0", "source_data": "-", "dstream_coresight": "2"}[
        buffer.get("format", "coresight")]
    values = {re.sub("[(].*", "", name): value for name, value in device["regs"].items()}
    registers = [f"{name}={values[name]}" for name in REGISTERS if name in values]
    if "regs" in core and "SCTLR" in core["regs"]:
        registers.append(f"SCTLR={core['regs']['SCTLR']}")
    code = []
    for section in core.sections():
        if not section.startswith("dump"):
            continue
        dump = core[section]
        begin = int(dump.get("offset", "0"), 0)
        size = int(dump.get("length", "0"), 0)
        data = (recording.folder / dump["file"]).read_bytes()[begin:]
        path = folder / f"{section}.bin"
        path.write_bytes(data[:size] if size else data)
        code.append(f"{path}@{dump['address']}")
    trace = str(recording.folder / buffer["file"])
    return [device["device"]["type"], core["device"]["type"], frames, trace, *registers, *code]


def listing(program, installed, recording, source):
    name, _, core_name, core, _ = source
    folder = Path(tempfile.mkdtemp(dir=installed.folder))
    arguments = arguments_of(recording, source, folder)
    got = installed.run(program, *arguments).splitlines()
    decoded = run(BTRACED, "decode", "--instructions", "--format", "tsv", "--source", name,
                  str(recording.folder)).splitlines()[1:]
    expect(len(got) == len(decoded), f"{name}: {len(got)} instructions, not {len(decoded)}")
    for line, (mine, theirs) in enumerate(zip(got, decoded)):
        theirs = core["device"]["type"] + theirs.removeprefix(core_name)
        expect(mine == theirs, f"{name}: line {line}: '{mine}', not '{theirs}'")
    return len(got)


def other_framings(installed):
    """The demo's bytes behind sync words, as a trace port sends them, and without frames."""
    recording = Recording(DEMO / "recording")
    source = recording.sources[0]
    arguments = arguments_of(recording, source, installed.folder)
    wanted = installed.run("./list_instructions", *arguments)
    frames = Path(arguments[3]).read_bytes()
    port = b"".join((b"\xff\xff\xff\x7f" if at % 160 == 0 else b"") + frames[at:at + 16]
                    for at in range(0, len(frames), 16))
    for framing, data in (("1", port), ("2", port), ("-", bare_bytes(frames, 0x10))):
        (installed.folder / "trace.bin").write_bytes(data)
        arguments[2:4] = framing, "trace.bin"
        got = installed.run("./list_instructions", *arguments)
        expect(got == wanted, f"framing {framing}: {len(got)} bytes, not {len(wanted)}")


def recordings():
    yield "demo", Recording(DEMO / "recording")
    if not DATA.is_dir():
        print("SKIP library: listings of real captures: no captures at BTRACED_DATA")
        return
    for path in sorted(DATA.glob("*/snapshot.ini")):
        yield path.parent.name, Recording(path.parent)


def list_captures(installed):
    installed.example("list_instructions")
    archive = str(installed.folder / "static")
    installed.run("cc", "list_instructions.c", f"-I{installed.prefix}/include",
                  f"{installed.lib}/libbtrace.a", "-lcapstone", "-o", archive)
    listed = set()
    for name, recording in recordings():
        for source in recording.sources:
            kind = source[1]["device"]["type"]
            again = kind in listed and "full" not in sys.argv[1:]
            if again or not kind.upper().startswith(("PTM", "PFT", "ETM", "ETE")):
                continue
            listed.add(kind)
            title = f"{name} {source[0]} ({kind})"
            test(f"the instructions of {title} are those of btraced decode", listing,
                 "./list_instructions", installed, recording, source)
            if name == "demo":
                test(f"the static library lists {title}", listing, archive, installed, recording,
                     source)


def bare_bytes(frames, wanted):
    """Formatter frames -> bytes of one source (IHI 0029E, D4.2)."""
    out, source = bytearray(), None
    for at in range(0, len(frames) - 15, 16):
        frame = frames[at:at + 16]
        for i in range(0, 15, 2):
            low = frame[15] >> (i // 2) & 1
            if not frame[i] & 1:
                pair = [(source, frame[i] | low)]
                pair += [(source, frame[i + 1])] if i < 14 else []
            else:
                new = frame[i] >> 1
                pair = [(source if low else new, frame[i + 1])] if i < 14 else []
                source = new
            out += bytes(byte for owner, byte in pair if owner == wanted)
    return bytes(out)


def count_functions(installed):
    """How often each was entered, counted again from the listing, of bytes without frames."""
    recording = Recording(DEMO / "recording")
    source = recording.sources[0]
    kind, core, _, trace, *rest = arguments_of(recording, source, installed.folder)
    code = next(a for a in rest if a.endswith("80010000"))
    registers = [a for a in rest if "@" not in a]
    bare = installed.folder / "bare.bin"
    bare.write_bytes(bare_bytes(Path(trace).read_bytes(), 0x10))
    symbols = [line.split() for line in run("nm", "-n", "--defined-only", str(DEMO / "crash.elf"))
               .splitlines() if re.search(r" [tT] [^$]", line)]
    starts = {}
    for address, _, name in symbols:
        starts.setdefault(int(address, 16), name)
    symbols = [f"{address:08x} t {name}" for address, name in sorted(starts.items())]
    (installed.folder / "symbols").write_text("\n".join(symbols) + "\n")
    with open(bare, "rb") as trace:
        out = installed.run("./count_functions", kind, core, "symbols", *code.rsplit("@", 1),
                            *registers, stdin=trace)
    got = {name: int(count) for count, name in map(str.split, out.splitlines())}
    order, before, branch = sorted(starts), None, ""
    counts = Counter()
    rows = run(BTRACED, "decode", "--instructions", "--format", "tsv",
               str(recording.folder)).splitlines()[1:]
    for row in rows:
        fields = row.split("\t")
        address, text = int(fields[2], 16), fields[8]
        if address in starts:
            behind = next((a for a in order if a > address), 1 << 64)
            own = before is not None and address <= before < behind
            if not (own and re.match(r"(b|cb)(?!l |lx |x |kpt)", branch)):
                counts[starts[address]] += 1
        before, branch = address, text
    expect(got == dict(counts), f"{got}, not {dict(counts)}")
    expect(sum(got.values()) > 100, f"only {sum(got.values())} entries")


def names(installed):
    for path, option in ((installed.lib / "libbtrace.a", "-g"),
                         (installed.lib / "libbtrace.so", "-D")):
        symbols = run("nm", option, "--defined-only", str(path))
        found = re.findall(r" [A-TV-Zuw] (\S+)$", symbols, re.M)
        strange = [name for name in found if not name.startswith("bt_")]
        expect(not strange, f"{path.name} exports {strange[:10]}")
        expect(10 <= len(found) <= 20, f"{path.name} has {len(found)} entry points")
        declared = set()
        for header in (installed.prefix / "include/btrace").glob("*.h"):
            declared |= set(re.findall(r"^BT_API [^;(]*?(\w+)\(", header.read_text(), re.M))
        expect(set(found) == declared, f"declared or exported alone: {set(found) ^ declared}")


def dependencies(installed):
    dynamic = run("readelf", "-d", str(installed.lib / "libbtrace.so"))
    expect("soname: [libbtrace.so.0]" in dynamic, "the soname is not libbtrace.so.0")
    needed = re.findall(r"\(NEEDED\).*\[lib(\S+?)\.so", dynamic)
    expect(set(needed) <= {"c", "capstone"}, f"the library needs {needed}")
    tree = run("ldd", str(installed.lib / "libbtrace.so"))
    strange = [word for word in FOREIGN if re.search(rf"\blib{word}\b", tree)]
    expect(not strange, f"the library needs {strange}")
    links = {"libbtrace.so": "libbtrace.so.0", "libbtrace.so.0": "libbtrace.so.0.1.0"}
    for link, file in links.items():
        expect(os.readlink(installed.lib / link) == file, f"{link} does not lead to {file}")


def without_capstone(installed):
    """A program that asks for no text: the static library alone is enough."""
    installed.run("cc", "count_functions.c", f"-I{installed.prefix}/include",
                  f"{installed.lib}/libbtrace.a", "-o", "lean")
    dynamic = run("readelf", "-d", str(installed.folder / "lean"))
    needed = re.findall(r"\(NEEDED\).*\[lib(\S+?)\.so", dynamic)
    expect(needed == ["c"], f"it needs {needed}")


def headers(installed):
    """Each header by itself, in C and in C++; nothing of the project's own is installed."""
    for header in sorted((installed.prefix / "include/btrace").glob("*.h")):
        source = f"#include <btrace/{header.name}>\nint main(void) {{ return 0; }}\n"
        (installed.folder / "one.c").write_text(source)
        (installed.folder / "one.cpp").write_text(source)
        include = f"-I{installed.prefix}/include"
        installed.run("cc", "-std=c99", "-pedantic", *WARNINGS, include, "-c", "one.c")
        installed.run("c++", "-std=c++11", "-pedantic", *WARNINGS, include, "-c", "one.cpp")
        expect('"decoder/' not in header.read_text(), f"{header.name} includes private headers")
    (installed.folder / "use.cpp").write_text(
        "#include <btrace/btrace.h>\n#include <cstdio>\n"
        "int main() { bt_image *i; if (bt_image_new(&i)) return 1; bt_image_free(i);\n"
        "    return std::printf(\"%s %u %u\\n\", BT_VERSION_STRING, bt_version(), "
        "unsigned(BT_VERSION)) < 0; }\n")
    installed.shell("c++ use.cpp $(pkg-config --cflags --libs btrace) -o use")
    words = installed.run("./use").split()
    expect(words[1] == words[2], f"versions {words}")
    expect(words[0] == installed.shell("pkg-config --modversion btrace").strip(),
           "btrace.pc and version.h differ")


def manual(installed):
    """A page for each function; mandoc has nothing to say of them."""
    pages = installed.prefix / "share/man/man3"
    for header in (installed.prefix / "include/btrace").glob("*.h"):
        for name in re.findall(r"^BT_API [^;(]*?(\w+)\(", header.read_text(), re.M):
            page = pages / f"{name}.3"
            expect(page.exists(), f"no page for {name}")
            expect(f"\n.Fo {name}\n" in page.read_text(), f"{page.name} does not describe {name}")
    expect((pages / "btrace.3").exists(), "no btrace(3)")
    for page in sorted((ROOT / "docs/man3").glob("*.3")):
        done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", str(page)], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        expect(done.returncode == 0, done.stdout[:500])


def examples():
    for path in (ROOT / "docs/examples").glob("*.c"):
        lines = len(path.read_text().splitlines())
        expect(lines <= 80, f"{path.name} has {lines} lines")


def main():
    with tempfile.TemporaryDirectory() as folder:
        try:
            installed = Installed(Path(folder))
        except AssertionError as error:
            print(f"FAIL library: make install: {error}")
            return 1
        print("PASS library: make install")
        test("an example has at most 80 lines", examples)
        test("exported names", names, installed)
        test("dependencies and soname", dependencies, installed)
        test("headers in C and in C++", headers, installed)
        test("man pages", manual, installed)
        list_captures(installed)
        test("port frames, and none", other_framings, installed)
        installed.example("count_functions")
        test("functions are counted", count_functions, installed)
        test("without text of instructions no capstone", without_capstone, installed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
