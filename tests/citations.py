#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Citations resolve: what comments, tests and pages cite is listed in docs/references.md in the
issue that is cited, what is listed there is cited, and nothing refers to what readers do not have."""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIST = "docs/references.md"
KINDS = {".c", ".h", ".cpp", ".S", ".ld", ".py", ".sh", ".md", ".case", ".conf", ".1", ".mk", ""}

# A citation may go over the end of a line, with the mark of a comment in between.
GAP = r"(?:[ \t]*\n[ \t]*(?:\*(?!/)|#|//)?[ \t]*|[ \t]+)"
NUMBERED = re.compile(rf"\b(IHI|DDI|DUI|DEN)({GAP}?)(\d{{4}})([A-Z](?:\.[a-z])?)?(?![A-Za-z0-9])")
NAMES = [
    r"AN_\d{3}", rf"(?:RFC|IEEE){GAP}\d+", r"RM\d{4}", r"UG\d{3,4}", r"SPRU[A-Z]+\d+", r"IMX\w+RM",
    r"(?:AAELF|AADWARF|AAPCS|ADDENDA)(?:32|64)", rf"(?:GDB|CMSIS-DAP){GAP}manual",
    rf"Open-CMSIS-Pack{GAP}Specification", rf"MIPI{GAP}STP",
    rf"Zstandard{GAP}Seekable{GAP}Format",
]
NAMED = re.compile(r"\b(?:" + "|".join(NAMES) + r")\b")
# A hash may be called so, in code or in words.
HASH = re.compile(r"hexdigest|\.digest\(|struct digest\b|\b(?:sha\d*|md5|crc|hash)", re.I)
DIGEST = re.compile(r"\bdigests?\b", re.I)
BARE = [
    (re.compile(rf"\b[Ss]ections?{GAP}\d"), "a section's number: write the document's, then it"),
    (re.compile(r"\(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?(?: trap \d)?[),;]"),
     "a number without a document"),
]


def flat(text):
    return re.sub(GAP, " ", text)


def listed_in(page):
    """Document to issue ("" where any will do), from the first and third column of the table."""
    documents = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == 5 and cells[0] != "number" and cells[0][0] != "-":
            documents[cells[0]] = cells[2]
    return documents


def scan(name, text, documents, cited):
    """What is wrong with one file: (line, what). Documents that it cites go into `cited`."""
    wrong = []

    def say(offset, what):
        wrong.append((text.count("\n", 0, offset) + 1, what))

    for hit in NUMBERED.finditer(text):
        document = f"{hit.group(1)} {hit.group(3)}"
        cited.add(document)
        if document not in documents:
            say(hit.start(), f"{flat(hit.group())} is not in {LIST}")
        elif not hit.group(2) or hit.group(4) != documents[document]:
            say(hit.start(), f"'{flat(hit.group())}': write {document}{documents[document]}")
    for hit in NAMED.finditer(text):
        document = flat(hit.group())
        cited.add(document)
        if document not in documents:
            say(hit.start(), f"{document} is not in {LIST}")
    for number, line in enumerate(text.splitlines(), 1):
        if DIGEST.search(line) and not HASH.search(line):
            wrong.append((number, "a digest is cited: readers have none"))
    if name.endswith((".c", ".h", ".cpp", ".case")):
        for pattern, what in BARE:
            for hit in pattern.finditer(text):
                say(hit.start(), f"'{flat(hit.group())}': {what}")
    return wrong


def self_check():
    """Each kind of mistake is found, and what is right is not."""
    documents = {"IHI 0014": "Q", "GDB manual": "of GDB 13", "AN_108": "1.5", "DDI 0403": "E.e"}
    bad = [
        "/* digest 5.2 */", "see the digest's section", "/* IHI 9999A 1.2 */", "/* AN_109 */",
        "/* IHI 0014P 7.3 */", "/* IHI 0014 7.3 */", "/* IHI0014Q 7.3 */", "/* (2.13) */",
        "/* (5.6 trap 3) */", "/* see section 4.2 */", "/* RFC\n * 9999 */", "/* IHI\n * 0015A */",
        "/* DDI 0403E */",
    ]
    good = [
        "/* IHI 0014Q 7.3.1 */", "/* IHI 0014Q table 7-1. */", 'GDB manual, "Packets"',
        "/* (IHI\n * 0014Q 7.3) */", "got.hexdigest()", "/* a digest: SHA-256 */", "/* AN_108 */",
        "/* DDI 0403E.e C1.6.1 */", "static struct digest decode(void)", "a [section] of the file",
    ]
    missed = [text for text in bad if not scan("x.c", text, documents, set())]
    refused = [text for text in good if scan("x.c", text, documents, set())]
    cited = set()
    for text in good:
        scan("x.c", text, documents, cited)
    return missed + refused + ([] if cited == set(documents) else [f"cited: {cited}"])


def main():
    code = 0

    def report(what, lines):
        nonlocal code
        for line in lines:
            print(line)
        print(f"{'FAIL' if lines else 'PASS'} citations: {what}")
        code = 1 if lines else code

    report("the check finds what is wrong", [f"self-check: {text!r}" for text in self_check()])
    documents = listed_in((ROOT / LIST).read_text())
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=False, capture_output=True)
    names = listed.stdout.decode().split("\0")
    if listed.returncode:  # the sources without their repository, or somebody else's
        names = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.relative_to(ROOT).parts[0] != "build"]
    wrong, cited, files = [], set(), 0
    for name in sorted(filter(None, names)):
        path = ROOT / name
        if name in (LIST, "LICENSE") or path == Path(__file__).resolve() or \
                path.suffix not in KINDS or not path.is_file():
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        files += 1
        wrong += [f"{name}:{line}: {what}" for line, what in scan(name, text, documents, cited)]
    report(f"what {files} files cite is listed, in one form", wrong or
           ([] if files > 500 else [f"only {files} files were looked at"]))
    report(f"the {len(documents)} listed documents are cited",
           [f"{LIST}: {document} is cited nowhere" for document in documents
            if document not in cited] or ([] if documents else [f"{LIST}: no table"]))
    return code


if __name__ == "__main__":
    sys.exit(main())
