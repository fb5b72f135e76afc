#!/usr/bin/env python3
"""What README and guide say of the command line is what the program takes."""

import pathlib
import re
import subprocess
import sys
import unittest

from program import rapt

TOP = pathlib.Path(__file__).parent.parent
PAGES = [TOP / "README.md", TOP / "README.ko.md", *sorted((TOP / "docs" / "guide").glob("*.md")),
         *sorted((TOP / "docs" / "notes").rglob("*.md")),
         *sorted((TOP / "recipes").glob("*/README.md"))]
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
CALL = re.compile(r"\brapt (train|decode|score|eval|average|explain|insight|info|check|bench)\b([^`|<>]*)")
CODE = re.compile(r"```.*?```|`[^`]+`", re.DOTALL)
NOT_OURS = {"--list", "--preset"}  # of tools/setup and cmake


def flags_of(text):
    return set(FLAG.findall(text))


class Guide(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        names = re.findall(r"^  (\w+) {2,}", rapt("--help").stdout, re.MULTILINE)
        cls.help = {name: flags_of(rapt(name, "--help").stdout) for name in names}
        claims = re.findall(r"^  (\S+)", rapt("insight").stdout, re.MULTILINE)
        cls.help["insight"] |= set.union(
            *(flags_of(rapt("insight", name, "--help").stdout) for name in ["all", "check", "report", *claims]))

    def test_every_command_is_there(self):
        self.assertGreaterEqual(set(self.help), {"train", "decode", "score", "eval", "average",
                                                 "explain", "insight", "info", "check"})

    def test_calls_have_flags_of_their_command(self):
        calls = 0
        for page in PAGES:
            for code in CODE.findall(page.read_text(encoding="utf-8")):
                joined = code.replace("\\\n", " ").strip("`")
                for line in joined.split("\n") if code.startswith("```") else [joined]:
                    for name, rest in CALL.findall(line):
                        calls += 1
                        unknown = flags_of(rest) - self.help[name]
                        self.assertFalse(unknown, f"{page.name}: rapt {name} has no {unknown}")
        self.assertGreater(calls, 10)

    def test_flags_belong_to_some_command(self):
        tool = subprocess.run([sys.executable, TOP / "tools/bench_peers", "--help"],
                              capture_output=True, text=True, check=True)
        known = set.union(NOT_OURS, flags_of(tool.stdout), *self.help.values())
        for page in PAGES:
            unknown = flags_of(page.read_text(encoding="utf-8")) - known
            self.assertFalse(unknown, f"{page.name}: no command has {unknown}")

    def test_pages_that_are_linked_exist(self):
        for page in [*PAGES, TOP / "CONTRIBUTING.md", *(TOP / "docs").glob("*.md")]:
            prose = CODE.sub("", page.read_text(encoding="utf-8"))
            for link in re.findall(r"\]\((?!https?:)([^)#]+)", prose):
                self.assertTrue((page.parent / link).exists(), f"{page.name}: no {link}")


if __name__ == "__main__":
    unittest.main()
