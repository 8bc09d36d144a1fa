# SPDX-License-Identifier: BSD-3-Clause
"""The product's sources and objects, whatever folders they lie in: who includes whom, who calls
whom. layout.py and layers.py measure with it."""
import os
import re
import subprocess
import sys

LAYERS = ("decoder", "drivers", "protocol", "server")
LIBRARY_HEADERS = "decoder/include"
INCLUDE_PATH = ("", LIBRARY_HEADERS)  # as -I in the Makefile
VIRTUAL = "drivers/virtual/"  # the QEMU plugin: a program of its own, not in the daemon

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^">]+)[">]', re.M)
# What is neither code nor a brace: comments, strings, characters, lines of the preprocessor.
NOT_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
    r"""|^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*""", re.S | re.M)
ATTRIBUTE = re.compile(r"__attribute__\s*\(\(.*?\)\)", re.S)
FUNCTION = re.compile(r"\b([A-Za-z_]\w*)\s*\(")


class Source:
    """One .c or .h file; its path counts from the root."""

    def __init__(self, root, path):
        self.path = path
        self.folder = os.path.dirname(path)
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            self.text = file.read()
        self.object = None
        self.defined = set()
        self.undefined = set()

    def includes(self):
        """Each include: its line, whether it is quoted, and the name in it."""
        for match in INCLUDE.finditer(self.text):
            yield self.text.count("\n", 0, match.start()) + 1, match[1] == '"', match[2]

    def functions(self):
        """Names of the functions that the file defines, static ones included."""
        names = set()
        code = NOT_CODE.sub(lambda match: "\n" * match[0].count("\n"), self.text)
        depth, start = 0, 0
        for match in re.finditer(r"[{};]", code):
            mark, at = match[0], match.start()
            if mark == "}":
                # A brace in the first column ends everything: alternatives of #if may not balance.
                depth = 0 if code[at - 1:at] == "\n" else max(depth - 1, 0)
            elif mark == "{":
                head = code[start:at]
                found = FUNCTION.search(ATTRIBUTE.sub("", head))
                if depth == 0 and found and "=" not in head and head.rstrip().endswith(")"):
                    names.add(found[1])
                depth += 1
            if depth == 0:
                start = at + 1
        return names


class Tree:
    def __init__(self, root):
        self.root = root
        self.sources = {}
        for layer in LAYERS:
            for folder, folders, files in os.walk(os.path.join(root, layer)):
                folders.sort()
                for name in sorted(files):
                    if name.endswith((".c", ".h")):
                        path = os.path.relpath(os.path.join(folder, name), root)
                        self.sources[path] = Source(root, path)
        self.offered = {}  # a symbol of the library: the header that offers it
        for source in self.sources.values():
            if source.folder.startswith(LIBRARY_HEADERS):
                for match in re.finditer(r"\b(bt_\w+)\s*\(", NOT_CODE.sub(" ", source.text)):
                    self.offered[match[1]] = source
        self.without_object = []
        self.defining = {}  # a symbol: the path of the source that defines it
        self._read_objects()

    def product(self):
        """Sources of the daemon and the library."""
        return [s for s in self.sources.values() if not s.path.startswith(VIRTUAL)]

    def resolve(self, source, name):
        """The source that #include "name" means, or None when it is not ours."""
        for folder in (source.folder,) + INCLUDE_PATH:
            path = os.path.normpath(os.path.join(folder, name))
            if path in self.sources:
                return self.sources[path]
        return None

    def includes(self):
        """(source, other, where) of each include of one of our files by another."""
        for source in self.sources.values():
            for line, _, name in source.includes():
                other = self.resolve(source, name)
                if other:
                    yield source, other, f'{source.path}:{line} #include "{name}"'

    def calls(self):
        """(source, other, symbol) of each symbol that a source takes from another."""
        for source in self.sources.values():
            for symbol in sorted(source.undefined):
                other = self.sources.get(self.defining.get(symbol))
                if other:
                    yield source, other, symbol

    def layer_calls(self):
        """The same for folders, with where: what the library offers belongs to its header, wherever
        in the decoder it is defined."""
        for source, other, symbol in self.calls():
            other = self.offered.get(symbol, other)
            yield source, other, f"{source.path} uses {symbol} of {other.path}"

    def _read_objects(self):
        objects = {}
        for source in self.sources.values():
            if source.path.endswith(".c"):
                for variant in ("release", "board", "pic"):
                    path = os.path.join("build", variant, source.path[:-2] + ".o")
                    if os.path.exists(os.path.join(self.root, path)):
                        source.object = path
                        objects[path] = source
                        break
                else:
                    self.without_object.append(source.path)
        for path, symbol, kind in symbols(self.root, ["-g"], sorted(objects)):
            if kind in "Uwv":
                objects[path].undefined.add(symbol)
            else:
                objects[path].defined.add(symbol)
                if self.defining.get(symbol, VIRTUAL).startswith(VIRTUAL):
                    self.defining[symbol] = objects[path].path


class Report:
    """Prints the lines of a test: what offends first, then the line with its limit."""
    shown = 20

    def __init__(self, test, verbose):
        self.test = test
        self.verbose = verbose
        self.failed = False

    def line(self, what, count, limit, items):
        failed = count > limit
        items = list(items)
        if failed or self.verbose:
            shown = len(items) if self.verbose else self.shown
            for item in items[:shown]:
                print("    " + item)
            if len(items) > shown:
                print(f"    ... and {len(items) - shown} more (--verbose)")
        print(f"{'FAIL' if failed else 'PASS'} {self.test}: {what} ({count}, limit {limit})")
        self.failed = self.failed or failed

    def none(self, what, items):
        items = list(items)
        self.line(what, len(items), 0, items)


def nm(root, options, paths):
    """The lines of nm for these files, each with its file before it."""
    if not paths:
        return []
    return subprocess.run(["nm", "-A", *options, *paths], cwd=root, stdout=subprocess.PIPE,
                          text=True, check=True).stdout.splitlines()


def symbols(root, options, paths):
    """(file, symbol, kind) of each symbol."""
    for line in nm(root, ["-P", *options], paths):
        path, symbol, kind = line.split()[:3]
        yield path.rstrip(":").split("[")[0], symbol, kind


def data_symbols(root, paths):
    """(file, symbol, section) of each variable and constant, static ones included."""
    for line in nm(root, ["-f", "sysv"], paths):
        fields = [field.strip() for field in line.split("|")]
        if len(fields) == 7 and fields[3] in ("OBJECT", "TLS", "COMMON"):
            path, _, symbol = fields[0].partition(":")
            yield path, symbol, fields[6]


def circles(graph):
    """The strongly connected components of more than one node; graph: a node and its followers."""
    sys.setrecursionlimit(10000)
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for follower in sorted(graph.get(node, ())):
            if follower not in index:
                visit(follower)
                low[node] = min(low[node], low[follower])
            elif follower in stack:
                low[node] = min(low[node], index[follower])
        if low[node] == index[node]:
            group = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found
