# SPDX-License-Identifier: BSD-3-Clause
"""The report of layout.sh: sizes of folders, circles, external symbols, names, comments."""
import argparse
import collections
import glob
import os
import re
import subprocess
import sys

from source_tree import NOT_CODE, VIRTUAL, Report, Tree, circles, symbols

FOLDER_SOURCES = 30
OBJECT_CIRCLES = 5
OBJECT_CIRCLE_FILES = 5
EXTERNAL_SYMBOLS = 1099
NAME_FILES = 3
PRODUCT_LINES = 128399
HALT_ENUMS = 1
HALT_WORDS = 4
STRUCT_BOOLS = 6
HEAD_LINES = 12  # of a test, which name the sources that it is of

# The library that is installed: all that it exports begins with its prefix.
LIBRARY = {"build/libbtrace.so*": "-D", "build/libbtrace.a": "-g"}
LIBRARY_PREFIX = "bt_"

# An enum that has so many of these among its values says why a core halts. One whose values are
# given as numbers is a register's field.
HALTS = [re.compile(word) for word in (
    "S?W?H?W?BREAK(POINT)?|BKPT", "[RA]?WATCH(POINT)?", "STEP|SINGLESTEP", "V(ECTOR|CATCH)",
    "EXTERNAL", "INTERRUPT(ED)?|REQUEST(ED)?", "SIGNAL|FAULT")]
ENUM = re.compile(r"\benum\s+(\w*)\s*\{([^}]*)\}")
SOCKET_PAIR = re.compile(r"\b(?:uv_)?socketpair\s*\(")

# What is set once, before anything runs, and what a caller is told: neither is a state.
OPTIONS = re.compile(r"\w+_(config|options|args)$")
NO_STATES = {
    "bt_event": "an event of a source: what it has",
    "insn_effect": "an instruction: what its operands are",
    "values_window": "what a reconstruction is given",
}
STRUCT = re.compile(r"\b(?:struct|union)(?:\s+__attribute__\S+)?\s*(\w*)\s*$")
BOOLS = re.compile(r"\b(?:atomic_bool|_Atomic bool|_Atomic\(bool\)|bool)\s+([^;()]+)$")

BANNER = re.compile(
    r"^\s*(/\*+|//+|#|\*)?\s*[-=*]{3,}\s*(\*/)?\s*$|(/\*+|//)\s*[-=*]{3,}|^\s*#\s*[-=*]{3,}")


def objects(tree, report):
    report.none("sources without an object: `make all virtual-board library`", tree.without_object)


def folder_sizes(tree, report):
    report.none("sources directly in server/, drivers/ or decoder/", sorted(
        s.path for s in tree.sources.values()
        if s.path.endswith(".c") and s.folder in ("server", "drivers", "decoder")))
    count = collections.Counter(s.folder for s in tree.sources.values() if s.path.endswith(".c"))
    report.none(f"folders of more than {FOLDER_SOURCES} sources", [
        f"{folder}: {n} sources" for folder, n in sorted(count.items()) if n > FOLDER_SOURCES])


def edges_inside(group, why):
    """One line for each arrow of a circle: how many reasons it has, and one of them."""
    for a in group:
        for b in group:
            if why[a, b]:
                yield f"  {a} -> {b} ({len(why[a, b])}): {why[a, b][0]}"


def folder_circles(tree, report):
    why = collections.defaultdict(list)
    graph = collections.defaultdict(set)
    for uses in (tree.includes(), tree.layer_calls()):
        for source, other, where in uses:
            if source.folder != other.folder:
                graph[source.folder].add(other.folder)
                why[source.folder, other.folder].append(where)
    found = circles(graph)
    lines = []
    for group in found:
        lines.append("circle of " + ", ".join(group))
        lines.extend(edges_inside(group, why))
    report.line("circles between folders", len(found), 0, lines)


def object_circles(tree, report):
    why = collections.defaultdict(list)
    graph = collections.defaultdict(set)
    for source, other, symbol in tree.calls():
        if source is not other and source.folder == other.folder:
            graph[source.path].add(other.path)
            why[source.path, other.path].append(symbol)
    found = sorted(circles(graph), key=lambda group: (-len(group), group))

    lines = []
    for group in found:
        lines.append(f"circle of {len(group)} files in {os.path.dirname(group[0])}")
        lines.extend(edges_inside(group, why))
    report.line("circles of objects inside folders", len(found), OBJECT_CIRCLES, lines)
    large = [group for group in found if len(group) > OBJECT_CIRCLE_FILES]
    report.none(f"circles of more than {OBJECT_CIRCLE_FILES} objects", [
        f"{len(group)} files: {' '.join(group)}" for group in large])


def external_symbols(tree, report):
    """A folder is linked as one object: what no other folder uses is local to it."""
    external = collections.defaultdict(set)
    for source, other, symbol in tree.calls():
        if source.folder != other.folder and not other.path.startswith(VIRTUAL):
            external[other.path].add(symbol)
    report.line("symbols of the product that are external to their folder",
                sum(len(names) for names in external.values()), EXTERNAL_SYMBOLS,
                (f"{len(names):3} {path}: {' '.join(sorted(names))}"
                 for path, names in sorted(external.items(), key=lambda item: (-len(item[1]), item[0]))))


def fuzzed(tree):
    """What a fuzzer feeds directly: a parser of bytes whose caller reads files or a target."""
    names = set()
    for path in glob.glob(os.path.join(tree.root, "tests/fuzz/*.c")):
        with open(path, encoding="utf-8") as file:
            names.update(re.findall(r"\b(\w+)\(", file.read()))
    return names


def unused_symbols(tree, report):
    product = tree.product()
    used = set().union(*(s.undefined for s in product)) | set(tree.offered) | fuzzed(tree) | {"main"}
    report.none("exported functions and data that no other product file uses", [
        f"{symbol} of {s.path}" for s in product for symbol in sorted(s.defined - used)])


def library_symbols(tree, report):
    missing, foreign = [], set()
    for pattern, option in LIBRARY.items():
        path = next(iter(glob.glob(pattern, root_dir=tree.root)), None)
        if not path:
            missing.append(f"{pattern} is not built")
            continue
        for _, symbol, kind in symbols(tree.root, [option, "--defined-only"], [path]):
            symbol = symbol.split("@")[0]
            if kind != "A" and not symbol.startswith(LIBRARY_PREFIX):  # A: the name of a version
                foreign.add(f"{symbol} of {path}")
    report.none(f"symbols of libbtrace without {LIBRARY_PREFIX}", missing + sorted(foreign))


def c_files(tree):
    """C of the product, the tests and the documents."""
    for source in tree.sources.values():
        yield source.path, source.text
    for top in ("tests", "docs"):
        for folder, _, files in sorted(os.walk(os.path.join(tree.root, top))):
            for name in sorted(files):
                if name.endswith((".c", ".h", ".cpp")):
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8", errors="replace") as file:
                        yield os.path.relpath(path, tree.root), file.read()


def banners(tree, report):
    found = []
    for path, text in c_files(tree):
        if "---" in text or "===" in text or "***" in text:
            for number, line in enumerate(text.splitlines(), 1):
                if BANNER.search(line):
                    found.append(f"{path}:{number}: {line.strip()}")
    report.none("banner comments", found)


def citations(tree, report):
    script = os.path.join(tree.root, "tests/citations.py")
    if os.path.exists(script):
        done = subprocess.run([sys.executable, script], cwd=tree.root, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        lines = done.stdout.splitlines()
        wrong = [line for line in lines if not line.startswith(("PASS", "FAIL"))]
        report.line("citations without a listed document",
                    max(len(wrong), 1) if done.returncode else 0, 0, wrong or lines)


def function_names(tree, report):
    files = collections.defaultdict(list)
    for source in tree.sources.values():
        for name in source.functions():
            plugin = source.path.startswith(VIRTUAL) and name.startswith("board_")
            if name != "main" and not name.startswith("on_") and not plugin:
                files[name].append(source.path)
    report.none(f"functions whose name is defined in more than {NAME_FILES} files", [
        f"{len(paths):2} x {name}: {' '.join(paths)}"
        for name, paths in sorted(files.items(), key=lambda item: (-len(item[1]), item[0]))
        if len(paths) > NAME_FILES])


def tests_of_sources(tree, report):
    """A test is named for its source, or names it in its first lines."""
    names, heads = set(), set()
    for _, _, files in os.walk(os.path.join(tree.root, "tests")):
        names.update(re.sub(r"^(test|fuzz)_|\.\w+$", "", name) for name in files
                     if name.startswith(("test_", "fuzz_")))
    for folder, _, files in os.walk(os.path.join(tree.root, "tests")):
        for name in files:
            if name.endswith((".c", ".py", ".sh", ".cpp")):
                with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                    heads.update(re.findall(r"\b\w+\.c\b", "".join(file.readlines()[:HEAD_LINES])))
    report.none("sources without a test that is named for them or names them", sorted(
        s.path for s in tree.product() if s.path.endswith(".c")
        and os.path.basename(s.path) not in heads
        and not any(f"{name}_".startswith(os.path.basename(s.path)[:-2] + "_") for name in names)))


def left_out_tests(tree, report):
    """tests/run.sh runs what is executable: a test that has a first line for that is meant to be."""
    found = []
    for folder, _, files in os.walk(os.path.join(tree.root, "tests")):
        for path in (os.path.join(folder, name) for name in files):
            with open(path, "rb") as file:
                if file.read(2) == b"#!" and not os.access(path, os.X_OK):
                    found.append(os.path.relpath(path, tree.root))
    report.none("scripts of tests/ that are not executable", sorted(found))


def code_of(source):
    """Its text without comments, strings and the preprocessor's lines."""
    return NOT_CODE.sub(lambda match: "\n" * match[0].count("\n"), source.text)


def product_lines(tree, report):
    report.line("lines of the product", sum(s.text.count("\n") for s in tree.product()),
                PRODUCT_LINES, ())


def halt_reasons(tree, report):
    found = []
    for source in tree.product():
        for name, values in ENUM.findall(code_of(source)):
            words = {word for value in re.findall(r"\w+", values) for word in value.split("_")}
            kinds = sum(any(halt.fullmatch(word) for word in words) for halt in HALTS)
            if kinds >= HALT_WORDS and "=" not in values:
                found.append(f"{source.path}: enum {name}")
    report.line("enums of halt reasons", len(found), HALT_ENUMS, found)


def socket_pairs(tree, report):
    report.none("socket pairs of the product", [
        s.path for s in tree.product() if SOCKET_PAIR.search(code_of(s))])


def bools_of_structs(code):
    """(name, bools) of each struct; one without a name inside another is part of that."""
    open_braces, start = [], 0
    for match in re.finditer(r"[{};]", code):
        text, start = code[start:match.start()], match.end()
        if match[0] == "{":
            found = STRUCT.search(text)
            inner = found and not found[1] and open_braces and open_braces[-1]
            open_braces.append(inner or ([found[1], 0] if found else None))
        elif match[0] == ";":
            found = BOOLS.search(text)
            if found and open_braces and open_braces[-1]:
                open_braces[-1][1] += found[1].count(",") + 1
        elif open_braces:
            closed = open_braces.pop()
            if closed and not any(outer is closed for outer in open_braces):
                yield tuple(closed)


def struct_bools(tree, report):
    report.none(f"structs of a running state with more than {STRUCT_BOOLS} bools", [
        f"{count:2} {source.path}: struct {name}" for source in tree.product()
        for name, count in bools_of_structs(code_of(source))
        if count > STRUCT_BOOLS and name not in NO_STATES and not OPTIONS.match(name)])


def main(arguments):
    options = argparse.ArgumentParser()
    options.add_argument("--verbose", action="store_true")
    options.add_argument("root", nargs="?", default=os.path.dirname(os.path.dirname(
        os.path.abspath(__file__))))
    options = options.parse_args(arguments)
    tree = Tree(options.root)
    report = Report("layout", options.verbose)
    for measure in (objects, folder_sizes, folder_circles, object_circles, external_symbols,
                    unused_symbols, library_symbols, function_names, banners, citations,
                    tests_of_sources, left_out_tests, product_lines, halt_reasons, socket_pairs, struct_bools):
        measure(tree, report)
    return report.failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
