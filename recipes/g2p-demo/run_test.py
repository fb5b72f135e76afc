#!/usr/bin/env python3
"""The demo from end to end with the program of this build, on a small language of our own making."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).parent
CONFIG = """
tokenizer = "chars"
target_tokenizer = "words"
vocabulary = "separate"
d_model = 16
heads = 2
encoder_layers = 1
decoder_layers = 1
d_ff = 32
batch_tokens = 500
epochs = 2
metric = "per"
"""


def dictionary():
    """800 words that are said as they are spelt, in the notation of festival."""
    said = {"a": "aa", "e": "eh", "i": "iy", "o": "ow", "u": "uw"}
    words = [f"{a}{b}{c}{d}" for a in "bdgk" for b in "aeiou" for c in "lmnrstvz" for d in "aeiou"]
    lines = (f'("{w}" nil ((({w[0]} {said[w[1]]}) 1) (({w[2]} {said[w[3]]}) 0)))' for w in words)
    return "MNCL\n" + "\n".join(lines) + "\n"


@unittest.skipUnless("RAPT" in os.environ, "RAPT names no program")
class Demo(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.config = self.folder / "config.toml"
        self.config.write_text(CONFIG)
        (self.folder / "dictionary").write_text(dictionary())

    def run_demo(self):
        environment = {**os.environ, "CONFIG": str(self.config), "OUT": str(self.folder / "out"),
                       "DICTIONARY": str(self.folder / "dictionary")}
        done = subprocess.run([HERE / "run"], env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_trains_once_and_shows_everything(self):
        first = self.run_demo()
        self.assertIn(" train --model ", first)
        self.assertIn("800 words, 800 pronunciations", first)
        self.assertRegex(first, r"(?i)\bwer\b.*\d")
        self.assertRegex(first, r"(?i)\bper\b.*\d")
        samples = re.findall(r"^  [* ] [bdgk][aeiou][lmnrstvz][aeiou] ", first, re.MULTILINE)
        self.assertGreaterEqual(len(samples), 8)
        self.assertLessEqual(len(samples), 10)
        self.assertRegex(first, r"set-up \d+ s, build \d+ s, training \d+ s")
        picture = self.folder / "out" / "attention.svg"
        self.assertIn(str(picture), first)
        self.assertTrue(picture.read_text().lstrip().startswith("<"))

        model = self.folder / "out" / "g2p" / "model.safetensors"
        bits = model.read_bytes()
        second = self.run_demo()
        self.assertNotIn(" train --model ", second)
        self.assertIn("in an earlier run", second)
        self.assertEqual(model.read_bytes(), bits)
        rates = re.compile(r"(?is)eval --metric.*?\n\n.*?\n\n")
        self.assertEqual(rates.search(first).group(), rates.search(second).group())

        self.config.write_text(CONFIG.replace("d_ff = 32", "d_ff = 40"))
        self.assertIn(" train --model ", self.run_demo())
        self.assertNotEqual(model.read_bytes(), bits)


if __name__ == "__main__":
    unittest.main()
