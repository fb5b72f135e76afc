"""Runs the rapt program in tests: where it is, small data, small models."""

import hashlib
import os
import pathlib
import subprocess
import tempfile
import unittest

RAPT = os.environ.get("RAPT", "build/release/rapt")
TIMEOUT = 240

# Pairs that a small model learns by heart: words and their letters backwards.
WORDS = ["abcde", "bead", "cab", "dace", "ebb", "fade", "gag", "head", "bade", "ice", "jade", "had",
         "beef", "aced", "face", "deaf", "cage", "edge", "dead", "bag", "chef", "each", "gaff", "hide"]
PAIRS = [(word, " ".join(reversed(word))) for word in WORDS]

TINY = ["--tokenizer", "chars", "--target-tokenizer", "words", "--d-model", "32", "--layers", "1",
        "--heads", "2", "--d-ff", "64", "--dropout", "0", "--batch-tokens", "200", "--lr", "0.01",
        "--warmup-steps", "20", "--label-smoothing", "0", "--threads", "1"]


def rapt(*arguments, stdin="", **options):
    """Runs the program to its end; strings in and out unless stdin is bytes."""
    text = not isinstance(stdin, bytes)
    return subprocess.run([RAPT, *map(str, arguments)], input=stdin, capture_output=True, text=text,
                          timeout=TIMEOUT, check=False, **options)


def hash_of(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


class ProgramTest(unittest.TestCase):
    """A test with a folder of its own, and the shared model of PAIRS."""

    _shared = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, content):
        path = self.folder / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content, encoding="utf-8")
        return path

    def tsv(self, name="train.tsv", pairs=PAIRS):
        return self.write(name, "".join(f"{source}\t{target}\n" for source, target in pairs))

    def run_ok(self, *arguments, **options):
        done = rapt(*arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def assert_fails(self, code, *fragments, arguments, **options):
        """The exit code, one clear message on stderr with these parts, nothing like a crash."""
        done = rapt(*arguments, **options)
        stderr = done.stderr if isinstance(done.stderr, str) else done.stderr.decode()
        self.assertEqual(done.returncode, code, stderr)
        for fragment in fragments:
            self.assertIn(fragment, stderr)
        return done

    @classmethod
    def model(cls):
        """The directory of a model that knows PAIRS by heart; trained once a process."""
        if ProgramTest._shared is None:
            ProgramTest._shared = tempfile.TemporaryDirectory()
            folder = pathlib.Path(ProgramTest._shared.name)
            data = folder / "train.tsv"
            data.write_text("".join(f"{s}\t{t}\n" for s, t in PAIRS), encoding="utf-8")
            done = rapt("train", "--model", folder / "model", "--train", data, *TINY, "--steps", 300)
            if done.returncode != 0:
                raise AssertionError(done.stderr)
        return pathlib.Path(ProgramTest._shared.name) / "model"
