#!/usr/bin/env python3
"""Checks what the compiler cannot: that the tree keeps the architecture of docs/design.md.

* A file includes its own layer and the layers below it, by the table of docs/design.md, section 1;
  CMakeLists.txt links the layers by the same table.
* Highway is included in rapt/kernels and rapt/testing alone.
* Source files and scripts have at most 400 lines.
* An op is complete: rapt/ops/x.cc that records on the tape has x_test.cc beside it and
  docs/math/x.md; rapt/kernels/x.{h,cc} has its scalar reference x_ref.h or a test.
* No note of work left undone, unless it names an issue: the word, then "(#12)".

Usage: tools/check_layers.py [ROOT]. Prints one line a fault; exit code 1 if there are any.
"""

import os
import re
import sys
from pathlib import Path

MAX_LINES = 400
CODE_FOLDERS = ("apps", "cmake", "examples", "python", "rapt", "recipes", "tests", "tools")
CPP = {".h", ".cc"}
SCRIPTS = {".py", ".sh", ".cmake"}
SKIPPED_FOLDERS = {"build", "__pycache__"}
HIGHWAY_LAYERS = {"kernels", "testing"}

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]', re.MULTILINE)
TABLE_ROW = re.compile(r"^\|\s*`(\w+)`\s*\|.*\|([^|]*)\|\s*$", re.MULTILINE)
CMAKE_LAYER = re.compile(r"^rapt_layer\((\w+)(?:\s+USES((?:\s+[a-z]+)+))?", re.MULTILINE)
RECORD = re.compile(r"\brecord\(")
UNDONE = re.compile(r"\b(?:TO" r"DO|FIX" r"ME)\b(?!\(#\d+\))")


def closure(direct):
    """{layer: the layers it names} -> {layer: all it may include, itself among them}."""
    def reach(layer, seen):
        if layer not in seen:
            seen.add(layer)
            for lower in direct.get(layer, ()):
                reach(lower, seen)
        return seen
    return {layer: reach(layer, set()) for layer in direct}


def read_table(design):
    """The rows of the table of layers: | `name` | what it holds | may use |."""
    direct = {}
    table = design.partition("| layer |")[2].partition("\n\n")[0]
    for name, uses in TABLE_ROW.findall(table):
        words = re.findall(r"\w+", uses)
        if words[:1] == ["all"]:  # "all", or "all but apps"
            words = [layer for layer in direct if layer not in words[1:]]
        direct[name] = words
    return direct


def read_cmake(text):
    return {name: uses.split() for name, uses in CMAKE_LAYER.findall(text)}


def layer_of(path):
    """The layer of a file of rapt/, apps/, examples/ or python/; None for tests/ and the rest."""
    if path.parts[0] == "rapt" and len(path.parts) > 2:
        return path.parts[1]
    return path.parts[0] if path.parts[0] in ("apps", "examples", "python") else None


def check_includes(path, text, allowed):
    layer = layer_of(path)
    if layer is not None and layer not in allowed:
        yield f"{path}: layer '{layer}' is not in the table of docs/design.md"
        return
    may = set(allowed) if layer is None else set(allowed[layer])
    if path.stem.endswith("_test"):
        may |= allowed.get("testing", set())  # the harness of the tests
    for include in INCLUDE.findall(text):
        if include.startswith("hwy/") and layer not in HIGHWAY_LAYERS:
            yield f"{path}: includes {include}; Highway belongs in rapt/kernels alone"
        target = layer_of(Path(include)) if include.startswith(("rapt/", "apps/")) else None
        if target is not None and target not in may:
            yield f"{path}: includes {include}; {layer or 'it'} may not use {target}"


def is_source(path):
    if path.suffix in CPP | SCRIPTS or path.name in ("CMakeLists.txt", "Makefile"):
        return True
    if path.suffix:
        return False
    with open(path, "rb") as file:
        return file.read(2) == b"#!"


def sources(root):
    """The source files and scripts below root, as sorted relative paths."""
    found = [root / name for name in ("CMakeLists.txt", "Makefile") if (root / name).is_file()]
    for top in CODE_FOLDERS:
        for folder, folders, names in os.walk(root / top):
            folders[:] = [name for name in folders
                          if name not in SKIPPED_FOLDERS and not name.endswith(".egg-info")]
            found += [path for path in (Path(folder) / name for name in names) if is_source(path)]
    return sorted(path.relative_to(root) for path in found)


def check_text(path, text):
    lines = text.count("\n")
    if lines > MAX_LINES:
        yield f"{path}: {lines} lines, more than {MAX_LINES}"
    for number, line in enumerate(text.splitlines(), 1):
        if UNDONE.search(line):
            yield f"{path}:{number}: work left undone names no issue"


def check_stems(root, texts):
    for path, text in texts.items():
        folder, stem = path.parent, path.stem
        if path.suffix != ".cc" or stem.endswith(("_test", "_bench")):
            continue
        test, reference = folder / f"{stem}_test.cc", folder / f"{stem}_ref.h"
        if folder == Path("rapt/ops") and RECORD.search(text):
            if test not in texts:
                yield f"{path}: no {test}"
            if not (root / "docs/math" / f"{stem}.md").is_file():
                yield f"{path}: no docs/math/{stem}.md"
        if folder == Path("rapt/kernels") and path.with_suffix(".h") in texts:
            if test not in texts and reference not in texts:
                yield f"{path}: neither {reference} nor {test}"


def check_cmake(allowed, linked):
    for layer, lower in linked.items():
        if layer not in allowed:
            yield f"CMakeLists.txt: layer '{layer}' is not in the table of docs/design.md"
        elif lower != allowed[layer]:
            names = ", ".join(sorted(lower ^ allowed[layer]))
            yield f"CMakeLists.txt: layer '{layer}' differs from docs/design.md in {names}"


def check_tree(root):
    """All faults of the tree below root, one line each."""
    allowed = closure(read_table((root / "docs/design.md").read_text(encoding="utf-8")))
    if not allowed:
        return ["docs/design.md: no table of layers found"]
    faults = list(check_cmake(allowed, closure(read_cmake((root / "CMakeLists.txt").read_text()))))
    texts = {}
    for path in sources(root):
        try:
            texts[path] = (root / path).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            faults.append(f"{path}: not UTF-8")
    for path, text in texts.items():
        faults += check_text(path, text)
        if path.suffix in CPP:
            faults += check_includes(path, text, allowed)
    return faults + list(check_stems(root, texts))


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
    faults = check_tree(root)
    print("\n".join(faults) if faults else "check_layers: the tree keeps its architecture")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
