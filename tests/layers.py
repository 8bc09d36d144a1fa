# SPDX-License-Identifier: BSD-3-Clause
"""The report of layers.sh, whose table it reads from its input: the order of the folders, private
headers, and what the pure layers leave to others."""
import argparse
import collections
import os
import re
import sys

from source_tree import VIRTUAL, Report, Source, Tree, data_symbols

IO_INCLUDE = re.compile(r"(sys/|fcntl|unistd|pthread|threads|time|signal|uv|libusb|poll|errno)")
IO_CALL = re.compile(
    r"(pthread|thrd|mtx|cnd|sem|timer|clock|uv|libusb)_\w+"
    r"|(__)?(f?open|f?read|f?write|f?close|fdopen|l?f?seek|socket|connect|send|recv|ioctl|poll"
    r"|select|mmap|time|clock|u?sleep|nanosleep|gettimeofday|v?f?printf|f?puts|f?putc|putchar"
    r"|perror|syslog|getenv)(64)?(_chk)?|stdin|stdout|stderr|__errno_location")


class Table:
    """"layer NAME: LAYER|FOLDER|HEADER ...", then the folders of the layer, low ones first. A
    folder may use the folders above it in its layer, and what the line of its layer names."""

    def __init__(self, lines):
        self.layer = {}  # a folder: its layer
        self.place = {}  # a folder: its line
        self.allowed = {}  # a layer: what it may use
        layer = None
        for number, line in enumerate(lines, 1):
            line = line.split("#")[0].strip()
            if line.startswith("layer "):
                layer, _, names = line[len("layer "):].partition(":")
                self.allowed[layer] = names.split()
            elif line:
                self.layer[line], self.place[line] = layer, number

    def allows(self, source, other):
        a, b = source.folder, other.folder
        if self.layer[a] == self.layer[b]:
            return self.place[b] <= self.place[a]
        return any(name in (self.layer[b], b, other.path) for name in self.allowed[self.layer[a]])


def folders(tree, table, report):
    found = {s.folder for s in tree.sources.values()}
    report.none("folders without a line in the table", sorted(found - set(table.layer)))
    report.none("lines of the table without a folder", sorted(set(table.layer) - found))


def order(tree, table, report):
    for what, uses in (("includes", tree.includes()), ("calls", tree.layer_calls())):
        report.none(f"{what} against the order of the folders", [
            f"{where}: {source.folder} must not use {other.folder}" for source, other, where in uses
            if source.folder in table.layer and other.folder in table.layer
            and source.folder != other.folder and not table.allows(source, other)])
    report.none("includes of what is no source of the product", [
        f'{source.path}:{line} #include "{name}"' for source in tree.sources.values()
        for line, quoted, name in source.includes() if quoted and not tree.resolve(source, name)])


def public_headers(tree):
    """What another folder includes, and what such a header includes: the rest is private."""
    included = collections.defaultdict(set)
    for source, other, _ in tree.includes():
        included[source.path].add(other)
    public, new = set(), {o.path for s in tree.sources.values() for o in included[s.path]
                          if o.folder != s.folder}
    while new:
        public |= new
        new = {o.path for path in new for o in included[path]} - public
    return public | {path for path in tree.sources if path.startswith("decoder/include/")}


def private_headers(tree, report):
    """A bare name is found in its own folder alone: so a private header is included. One that others
    include has its path everywhere."""
    public = public_headers(tree)
    by_path, bare, found = [], [], set()
    for source in tree.sources.values():
        for line, quoted, name in source.includes():
            other = tree.resolve(source, name) if quoted else None
            if not other:
                continue
            found.add(other.path)
            where = f'{source.path}:{line} #include "{name}"'
            if "/" in name and other.path not in public:
                by_path.append(where)
            elif "/" not in name and other.path in public:
                bare.append(where)
    report.none("private headers included by their path", by_path)
    report.none("public headers included by a bare name", bare)
    report.none("headers that no source includes", [
        path for path in tree.sources
        if path.endswith(".h") and path not in found and not path.startswith("decoder/include/")])


KNOW_THE_INSIDE = ("tests/fuzz", "tests/oracle", "tests/support")


def tests_of_private_headers(tree, report):
    """The tests of a folder know its inside; so do fuzzers, judges, and what tests share."""
    public, wrong = public_headers(tree), []
    for folder, _, files in sorted(os.walk(os.path.join(tree.root, "tests"))):
        here = os.path.relpath(folder, tree.root)
        for name in sorted(files):
            if name.endswith((".c", ".h", ".cpp")) and here not in KNOW_THE_INSIDE:
                test = Source(tree.root, os.path.join(here, name))
                for line, quoted, included in test.includes():
                    other = tree.resolve(test, included) if quoted else None
                    if other and other.path not in public and \
                            not other.path.startswith(VIRTUAL) and here != os.path.join("tests", other.folder):
                        wrong.append(f'{test.path}:{line} #include "{included}"')
    report.none("private headers included by a test outside the mirror of their folder", wrong)


def decoder_is_pure(tree, report):
    decoder = [s for s in tree.sources.values() if s.path.startswith("decoder/")]
    report.none("I/O, threads or clocks in decoder", [
        f"{s.path}:{line} #include <{name}>" for s in decoder
        for line, quoted, name in s.includes() if not quoted and IO_INCLUDE.match(name)] + [
        f"{s.path} uses {symbol}" for s in decoder
        for symbol in sorted(s.undefined) if IO_CALL.fullmatch(symbol)])


def no_globals(tree, layer, report):
    """Writable data, whatever section each object has for it. Tables of constant pointers, which
    are written once, when the program is loaded, lie in .data.rel.ro."""
    paths = {s.object: s.path for s in tree.sources.values()
             if s.object and s.path.startswith(layer + "/")}
    report.none(f"writable globals in {layer}", [
        f"{symbol} of {paths[path]} in {section}"
        for path, symbol, section in data_symbols(tree.root, sorted(paths))
        if re.match(r"\.(t?data|t?bss)\b|\*COM\*", section)
        and not section.startswith(".data.rel.ro")])


def main(arguments, lines):
    options = argparse.ArgumentParser()
    options.add_argument("--verbose", action="store_true")
    options.add_argument("root", nargs="?", default=os.path.dirname(os.path.dirname(
        os.path.abspath(__file__))))
    options = options.parse_args(arguments)
    table = Table(lines)
    tree = Tree(options.root)
    report = Report("layers", options.verbose)
    report.none("sources without an object: `make all virtual-board library`", tree.without_object)
    folders(tree, table, report)
    order(tree, table, report)
    private_headers(tree, report)
    tests_of_private_headers(tree, report)
    decoder_is_pure(tree, report)
    no_globals(tree, "decoder", report)
    no_globals(tree, "protocol", report)
    return report.failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], sys.stdin))
