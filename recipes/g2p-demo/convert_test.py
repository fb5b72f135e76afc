#!/usr/bin/env python3
"""The conversion of the dictionary: entries, odd lines, the split, the files."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from convert import parse, read, split_of  # noqa: E402

SCRIPT = Path(__file__).parent / "convert.py"


class Parse(unittest.TestCase):
    def test_syllables_and_stress_are_dropped(self):
        self.assertEqual(parse('("abacus" nil (((ae b) 1) ((ax k) 0) ((ax s) 0)))\n'),
                         ("abacus", "ae b ax k ax s"))

    def test_one_syllable_of_one_phone(self):
        self.assertEqual(parse('("a" n (((ey) 1)))'), ("a", "ey"))

    def test_a_part_of_speech_of_any_name(self):
        self.assertEqual(parse('("used" v_p (((y uw z d) 1)))'), ("used", "y uw z d"))

    def test_words_become_lower_case(self):
        self.assertEqual(parse('("dOrsay" n (((d ao r) 1) ((s iy) 0)))'),
                         ("dorsay", "d ao r s iy"))

    def test_apostrophes_stay_with_letters(self):
        self.assertEqual(parse('("o\'clock" nil (((ax) 0) ((k l aa k) 1)))'),
                         ("o'clock", "ax k l aa k"))

    def test_lines_that_are_no_words(self):
        for line in ("MNCL", "", '("," punc (((p ao z) 0)))', '("\'" punc (((p) 0)))',
                     '("3d" n (((th r iy) 1)))', '("silent" n ())', '("half" n (((hh ae f) 1))',
                     '("new york" n (((n uw) 1)))', "; a comment"):
            self.assertIsNone(parse(line), line)


class Read(unittest.TestCase):
    LINES = ["MNCL\n", '("use" n (((y uw s) 1)))\n', '("use" v (((y uw z) 1)))\n',
             '("Use" v (((y uw) 1) ((z) 0)))\n', '("?" punc (((k) 0)))\n', "\n"]

    def test_pronunciations_are_gathered_and_odd_lines_counted(self):
        words, skipped, repeated = read(self.LINES)
        self.assertEqual(words, {"use": ["y uw s", "y uw z"]})
        self.assertEqual(skipped, [(5, '("?" punc (((k) 0)))')])
        self.assertEqual(repeated, 1)


class Split(unittest.TestCase):
    def test_shares(self):
        splits = [split_of(f"word{i}") for i in range(20000)]
        # Binomial with p = 0.05: the standard deviation is 31 words.
        for split in ("dev", "test"):
            self.assertAlmostEqual(splits.count(split), 1000, delta=155)

    def test_a_word_never_moves(self):
        # The first eight bytes of SHA-256 of a, abc and the empty string, as published.
        for word, digest in (("a", 0xca978112ca1bbdca), ("abc", 0xba7816bf8f01cfea),
                             ("", 0xe3b0c44298fc1c14)):
            place = digest % 100
            expected = "dev" if place < 5 else "test" if place < 10 else "train"
            self.assertEqual(split_of(word), expected)


class Files(unittest.TestCase):
    def run_script(self, text):
        with tempfile.TemporaryDirectory() as folder:
            source, out = Path(folder) / "dictionary", Path(folder) / "new" / "out"
            if text is not None:
                source.write_text(text)
            done = subprocess.run([sys.executable, "-B", SCRIPT, source, out],
                                  capture_output=True, text=True)
            files = {path.name: path.read_text() for path in out.glob("*")}
        return done, files

    def test_every_word_lands_in_one_file_with_all_its_pronunciations(self):
        words = [f"{a}{b}{c}" for a in "abcdefgh" for b in "aeiou" for c in "lmnrst"]
        text = "MNCL\n" + "".join(f'("{word}" {pos} (((b {vowel}) 1)))\n'
                                  for word in words for pos, vowel in (("n", "aa"), ("v", "ae")))
        done, files = self.run_script(text)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("240 words, 480 pronunciations (0 repeated in the dictionary, 0 lines skipped)",
                      done.stdout)
        found = []
        for split in ("train", "dev", "test"):
            pairs = [line.split("\t") for line in files[f"{split}.tsv"].splitlines()]
            part = [word for word in words if split_of(word) == split]
            self.assertEqual(pairs, [[w, p] for w in part for p in ("b aa", "b ae")])
            self.assertIn(f"{split}: {len(part)} words, {2 * len(part)}", done.stdout)
            found += part
            if split != "train":
                self.assertEqual(files[f"{split}.words"].split(), part)
                self.assertEqual(files[f"{split}.refs"], "b aa\tb ae\n" * len(part))
        self.assertEqual(sorted(found), sorted(words))

    def test_a_file_without_entries(self):
        done, files = self.run_script("hello\n")
        self.assertEqual((done.returncode, files), (1, {}))
        self.assertIn("no entries", done.stderr)

    def test_a_missing_file(self):
        done, files = self.run_script(None)
        self.assertEqual((done.returncode, files), (1, {}))
        self.assertIn("No such file", done.stderr)
        self.assertNotIn("Traceback", done.stderr)


if __name__ == "__main__":
    unittest.main()
