#!/usr/bin/env python3
"""The recipe with the program of this build, on a few words of our own making."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).parent
CONFIG = """
tokenizer = "chars"
target_tokenizer = "words"
d_model = 16
heads = 2
layers = 1
d_ff = 32
epochs = 1
metric = "loss"
"""


@unittest.skipUnless("RAPT" in os.environ, "RAPT names no program")
class Kinds(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        words = [a + b + c for a in "bdgk" for b in "aeiou" for c in "lmnr"]
        for split, step in (("train", 1), ("dev", 9), ("test", 11)):
            (self.folder / split).mkdir()
            (self.folder / split / f"xx_{split}.tsv").write_text(
                "".join(f"{word}\t{' '.join(word)}\n" for word in words[::step]))
        (self.folder / "config.toml").write_text(CONFIG)

    def run_recipe(self, *names):
        environment = {**os.environ, "DATA": str(self.folder), "LANGUAGE": "xx",
                       "OUT": str(self.folder / "out"), "CONFIG": str(self.folder / "config.toml")}
        return subprocess.run([HERE / "run", *names], env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300, check=False)

    def test_trains_what_is_named_once_and_writes_its_row(self):
        done = self.run_recipe("base", "norm-batch")
        self.assertEqual(done.returncode, 0, done.stderr)
        page = self.folder / "out" / "training-kinds.md"
        first = page.read_text()
        self.assertEqual(first.count("\n|---"), 1)  # one table
        self.assertEqual(first.count("\n| Base | none: "), 1)
        self.assertEqual(first.count("\n| Norm | `--norm batch` | "), 1)
        result = self.folder / "out" / "norm-batch" / "result.json"
        found = json.loads(result.read_text())
        self.assertEqual(set(found["test"]), {"wer", "per"})
        before = result.stat().st_mtime_ns
        self.assertEqual(self.run_recipe("norm-batch").returncode, 0)
        self.assertEqual(result.stat().st_mtime_ns, before)
        self.assertEqual(page.read_text(), first)

    def test_an_unknown_name_is_refused(self):
        done = self.run_recipe("post")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no run is called post", done.stderr)


if __name__ == "__main__":
    unittest.main()
