#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Each line of layout.sh and layers.sh can fail: a small tree that passes gets one fault at a time,
and exactly the line of that fault says FAIL."""
import contextlib
import io
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import layers
import layout

HERE = os.path.dirname(os.path.abspath(__file__))
CC = os.environ.get("CC", "gcc").split()

TABLE = """
layer decoder:
decoder/include/btrace
decoder/flow
decoder/ptm
layer drivers: decoder/include/btrace/types.h drivers/target
drivers/usb
layer protocol: decoder/include/btrace/types.h drivers/target
protocol/rsp
layer server: decoder drivers protocol
server/base
server/cmd
"""

def function(name, result="0", parameters="void", kind="int"):
    return f"{kind} {name}({parameters})\n{{\n    return {result};\n}}\n"


def include(*names):
    return "".join(f'#include "{name}"\n' for name in names)


def module(name, result, *headers):
    """A source that includes headers and defines NAME(int) and a callback."""
    return (include(*headers) + function("on_event", kind="static int")
            + function(name, f"{result} + on_event()", "int n"))


HALTS = "enum halt {{ {0}_STEP, {0}_BKPT, {0}_WATCH, {0}_VECTOR, {0}_REQUEST }};\n"

# All that is allowed though it looks like a fault: a callback on_* in many files, a call of the
# decoder through its public header, a table of constant pointers, a private header in the test of
# its folder, a register's field beside the reasons for halting, options, bools of two structs.
BASE = {
    "decoder/include/btrace/types.h": "int bt_name(int n);\nint bt_unused(void);\n",
    "decoder/flow/types.c": include("btrace/types.h") + function("bt_name", "n", "int n")
                            + function("bt_unused"),
    "decoder/flow/flow_internal.h": "#define FLOW 1\n",
    "decoder/flow/flow.h": "int flow_run(int n);\n",
    "decoder/flow/flow.c": 'static const char *const names[] = {"a", "b"};\n'
                           + module("flow_run", "names[n][0]", "decoder/flow/flow.h",
                                    "flow_internal.h"),
    "decoder/ptm/ptm.h": "int ptm_run(int n);\n",
    "decoder/ptm/ptm.c": module("ptm_run", "flow_run(n)", "decoder/ptm/ptm.h",
                                "decoder/flow/flow.h"),
    "drivers/usb/usb.h": "#include <stdbool.h>\nint usb_run(int n);\n"
                         + "enum field { F_STEP = 1, F_BKPT, F_WATCH, F_VECTOR };\n"
                         + HALTS.format("USB")
                         + "struct usb_config { bool a, b, c, d, e, f, g; };\n"
                         + "struct usb { bool a, b, c; struct usb_in { bool d, e, f, g; } in; };\n",
    "drivers/usb/usb.c": module("usb_run", "bt_name(n)", "drivers/usb/usb.h", "btrace/types.h"),
    "protocol/rsp/rsp.h": "int rsp_run(int n);\n",
    "protocol/rsp/rsp.c": module("rsp_run", "n", "protocol/rsp/rsp.h"),
    "server/base/log.h": "int log_run(int n);\n",
    "server/base/log.c": include("server/base/log.h") + function("log_run", "n", "int n"),
    "server/cmd/main.c": include("decoder/ptm/ptm.h", "drivers/usb/usb.h", "protocol/rsp/rsp.h",
                                 "server/base/log.h")
                         + function("main", "ptm_run(0) + usb_run(0) + rsp_run(0) + log_run(0)"),
    "tests/decoder/flow/test_flow.c": include("decoder/flow/flow_internal.h") + "/* - a list */\n",
    "tests/citations.py": "",
}


def also(path, text):
    """A source of the base with more at its end."""
    return {path: BASE[path] + text}


def calls(path, name, callee):
    """A source whose function calls another's without its header."""
    return {path: f"int {callee}(void);\n" + function(name, callee + "()")}


def ring(name, count):
    """Sources of one folder that call each other in a circle."""
    files = {}
    for i in range(count):
        files |= calls(f"server/base/{name}{i}.c", f"{name}{i}", f"{name}{(i + 1) % count}")
    return files


def many(count):
    """A file that exports as many data, and one that uses them."""
    names = [f"log_{i}" for i in range(count)]
    return {"server/base/many.c": "".join(f"int {name};\n" for name in names),
            "server/cmd/uses.c": "".join(f"extern int {name};\n" for name in names)
                                 + "static int *const all[] __attribute__((used)) = {"
                                 + ", ".join("&" + name for name in names) + "};\n"}


TAKES = ("static __attribute__((unused)) const char *\ntake(int n,\n     int m)\n"
         "{\n    return n ? \"{\" : m ? \"}\" : 0;\n}\n")
PRINTS = "#include <stdio.h>\nvoid say(int n)\n{\n    printf(\"%d\", n);\n}\n"
COUNTS = "int flow_again(void)\n{\n    static int n;\n    return ++n;\n}\n"
CITES = "print('x.c:1: no such document')\nraise SystemExit(1)\n"

# The script, how the line that fails begins, the files of the fault. None: the file is gone;
# "table": more lines of the table; a library: the symbol that it exports.
LAYOUT = [
    ("sources without an object", {"build/release/server/base/log.o": None}),
    ("sources directly in", {"server/stray.c": ""}),
    ("sources directly in", {"drivers/stray.c": ""}),
    ("sources directly in", {"decoder/stray.c": ""}),
    ("folders of more than 30", {f"server/base/s{i}.c": "" for i in range(30)}),
    ("circles between folders", {"server/base/up.h": include("server/cmd/down.h"),
                                 "server/cmd/down.h": include("server/base/log.h")}),
    ("circles between folders", calls("server/base/up.c", "log_up", "cmd_down")
     | {"server/cmd/down.c": "int log_up(void);\n" + function("cmd_down", "log_up()")}),
    ("circles of objects inside folders",
     ring("a", 2) | ring("b", 2) | ring("c", 2) | ring("d", 2) | ring("e", 2) | ring("f", 2)),
    ("circles of more than 5 objects", ring("ring", 6)),
    ("symbols of the product that are external", many(1100)),
    ("exported functions and data", also("server/base/log.c", function("log_alone"))),
    ("exported functions and data", also("server/base/log.c", "int log_data = 1;\n")),
    ("exported functions and data", {
        "server/base/alone.c": function("log_alone"),
        "tests/base/test_alone.c": "int log_alone(void);\nint (*test)(void) = log_alone;\n"}),
    # The prefix does not excuse what no header offers.
    ("exported functions and data", also("decoder/flow/types.c", function("bt_alone"))),
    ("symbols of libbtrace", {"build/libbtrace.so": None}),
    ("symbols of libbtrace", {"build/libbtrace.a": None}),
    ("symbols of libbtrace", {"build/libbtrace.so": "flow_run"}),
    ("symbols of libbtrace", {"build/libbtrace.a": "flow_run"}),
    ("functions whose name", {f"server/base/n{i}.c": TAKES for i in range(4)}),
    ("banner comments", also("server/base/log.h", "/* ---- runs ---- */\n")),
    ("banner comments", also("server/base/log.c", "/*=== runs */\n")),
    ("banner comments", also("server/base/log.c", "// -----\n")),
    ("banner comments", {"tests/x.c": "/* runs\n * -----------\n */\n"}),
    ("banner comments", {"tests/x.cpp": "/* runs\n   ----------- */\n"}),
    ("banner comments", {"tests/x.h": "/*\n# ---- runs\n*/\n"}),
    ("citations", {"tests/citations.py": CITES}),
    ("sources without a test", {"server/base/untested.c": ""}),
    ("sources without a test", {"server/base/untested.c": "",
                                "tests/server/test_x.c": "/*\n" * 20 + "untested.c */\n"}),
    ("scripts of tests/", {"tests/test_x.py": "#!/usr/bin/env python3\n"}),
    ("lines of the product", {"server/base/long.h": "\n" * layout.PRODUCT_LINES}),
    ("enums of halt reasons", {"server/base/halt.h": HALTS.format("LOG")}),
    ("socket pairs of the product", {
        "server/base/pair.c": "#include <sys/socket.h>\n"
                              + function("pair", "socketpair(1, 1, 0, fds)", "int *fds",
                                         "static __attribute__((unused)) int")}),
    ("structs of a running state",
     {"server/base/log.h": "#include <stdbool.h>\n" + BASE["server/base/log.h"]
      + "struct log { bool a, b, c; int n; struct { bool d; } in; bool e[2];\nbool f : 1, g; };\n"}),
]
LAYERS = [
    ("sources without an object", {"build/release/server/base/log.o": None}),
    ("folders without a line", {"server/new/new.c": ""}),
    ("lines of the table without a folder", {"table": "server/none\n"}),
    # Below it in its layer.
    ("includes against the order",
     also("server/base/log.c", include("server/cmd/cmd.h")) | {"server/cmd/cmd.h": ""}),
    ("includes against the order", also("decoder/flow/flow.h", include("decoder/ptm/ptm.h"))),
    # Of another layer, what is not for it.
    ("includes against the order", also("drivers/usb/usb.c", include("decoder/flow/flow.h"))),
    ("includes against the order", also("drivers/usb/usb.c", include("btrace/decoder.h"))
     | {"decoder/include/btrace/decoder.h": ""}),
    ("includes against the order", also("protocol/rsp/rsp.c", include("drivers/usb/usb.h"))),
    ("includes against the order", also("decoder/ptm/ptm.c", include("server/base/log.h"))),
    ("calls against the order", calls("decoder/flow/up.c", "up", "ptm_run")),
    ("calls against the order", calls("drivers/usb/up.c", "up", "flow_run")),
    ("includes of what is no source",
     also("server/base/log.c", include("tests/x.h")) | {"tests/x.h": ""}),
    ("private headers included by their path",
     {"server/base/own.h": "", "server/base/own.c": include("server/base/own.h")}),
    ("public headers included by a bare name", also("decoder/flow/flow.c", include("flow.h"))),
    # Somebody's private header, found by its path, is private no more.
    ("public headers included by a bare name",
     also("decoder/ptm/ptm.c", include("decoder/flow/flow_internal.h"))),
    ("headers that no source includes", {"server/base/own.h": ""}),
    ("private headers included by a test",
     {"tests/decoder/ptm/x.c": include("decoder/flow/flow_internal.h")}),
    ("I/O, threads or clocks", also("decoder/flow/flow.c", "#include <unistd.h>\n")),
    ("I/O, threads or clocks", also("decoder/ptm/ptm.c", PRINTS)),
    ("writable globals in decoder", also("decoder/flow/flow.c", "int flow_level = 1;\n")),
    ("writable globals in decoder", also("decoder/flow/flow.c", COUNTS)),
    ("writable globals in decoder", also("decoder/flow/flow.c", "_Thread_local int level;\n")),
    ("writable globals in decoder", also("decoder/flow/flow.c", "const char *name = \"x\";\n")),
    ("writable globals in protocol", also("protocol/rsp/rsp.c", "int rsp_level = 1;\n")),
]
CASES = [("layout", *case) for case in LAYOUT] + [("layers", *case) for case in LAYERS]


def run(arguments, root):
    subprocess.run(arguments, cwd=root, check=True)


def library(root, path, foreign=None):
    """The library, exporting bt_name, and what is foreign to it."""
    code = os.path.join(root, "library.c")
    with open(code, "w", encoding="utf-8") as file:
        for name in ("bt_name", foreign or "bt_isa"):
            file.write(function(name))
    if path.endswith(".a"):
        run([*CC, "-c", "library.c", "-o", "library.o"], root)
        if os.path.exists(os.path.join(root, path)):
            os.remove(os.path.join(root, path))
        run(["ar", "rcs", path, "library.o"], root)
    else:
        run([*CC, "-shared", "-fPIC", "library.c", "-o", path], root)


def write(root, files):
    """Writes the files and makes their objects, with a section for each function and datum, as the
    product may have; files without text share one object."""
    for path, text in files.items():
        full = os.path.join(root, path)
        built = os.path.join(root, "build/release", path[:-2] + ".o")
        if path.startswith("build/libbtrace") and text is not None:
            library(root, path, text)
        elif text is None:
            os.remove(full)
            if os.path.exists(built):
                os.remove(built)
        else:
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)
    with open(os.path.join(root, "named.py"), "a", encoding="utf-8") as file:
        file.write("".join(os.path.basename(path) + " " for path in files
                           if path.endswith(".c") and "untested" not in path))
    os.makedirs(os.path.join(root, "tests"), exist_ok=True)
    shutil.copy(os.path.join(root, "named.py"), os.path.join(root, "tests/named.py"))
    for path, text in files.items():
        if path.endswith(".c") and text is not None and not path.startswith("tests/"):
            built = os.path.join("build/release", path[:-2] + ".o")
            os.makedirs(os.path.dirname(os.path.join(root, built)), exist_ok=True)
            if text:
                run([*CC, "-pipe", "-fPIC", "-fdata-sections", "-ffunction-sections", "-I.",
                     "-Idecoder/include", "-c", path, "-o", built], root)
            else:
                shutil.copy(os.path.join(root, "empty.o"), os.path.join(root, built))


def failures(script, root):
    out = io.StringIO()
    table = TABLE
    if os.path.exists(os.path.join(root, "table")):
        with open(os.path.join(root, "table"), encoding="utf-8") as file:
            table += file.read()
    with contextlib.redirect_stdout(out):
        failed = (layout.main([root]) if script == "layout"
                  else layers.main([root], table.splitlines()))
    lines = out.getvalue().splitlines()
    fails = [line for line in lines if line.startswith("FAIL")]
    assert bool(failed) == bool(fails), f"{script} returns {failed}"
    return fails, lines


def main():
    wrong = 0
    seen = set()
    with tempfile.TemporaryDirectory() as top:
        base = os.path.join(top, "base")
        os.makedirs(os.path.join(base, "build"))
        with open(os.path.join(base, "empty.c"), "w", encoding="utf-8"):
            pass
        run([*CC, "-c", "empty.c", "-o", "empty.o"], base)
        write(base, BASE)
        library(base, "build/libbtrace.so")
        library(base, "build/libbtrace.a")
        names = {}
        for script in ("layout", "layers"):
            fails, lines = failures(script, base)
            names[script] = {line.split(" (")[0][len("PASS "):] for line in lines}
            wrong += len(fails)
            for line in fails:
                print(f"    a tree without a fault: {line}")
        for number, (script, what, files) in enumerate(CASES):
            root = os.path.join(top, str(number))
            shutil.copytree(base, root)
            write(root, files)
            fails, lines = failures(script, root)
            if len(fails) == 1 and fails[0].startswith(f"FAIL {script}: {what}"):
                seen.add(fails[0].split(" (")[0][len("FAIL "):])
            else:
                wrong += 1
                print(f"    case {number}, which breaks '{what}':")
                for line in fails or ["no line fails"]:
                    print("        " + line)
            shutil.rmtree(root)
        for line in sorted((names["layout"] | names["layers"]) - seen):
            wrong += 1
            print(f"    no fault is known that breaks '{line}'")
        # The scripts as they are called: the small tree passes the first; it does not have the
        # folders of the second.
        for script, code in (("layout.sh", 0), ("layers.sh", 1)):
            done = subprocess.run([os.path.join(HERE, script), base], stdout=subprocess.DEVNULL,
                                  check=False)
            if done.returncode != code:
                wrong += 1
                print(f"    {script} ends with {done.returncode} instead of {code}")
    print(f"{'FAIL' if wrong else 'PASS'} layout: each line of layout.sh and layers.sh can fail "
          f"({len(CASES)} faults, {wrong} wrong)")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
