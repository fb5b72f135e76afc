#!/usr/bin/env python3
"""The example prints what its page shows, and its output is PyTorch's (tests/goldens)."""

import json
import os
import pathlib
import re
import struct
import subprocess
import tempfile
import unittest

TOP = pathlib.Path(__file__).parent.parent
GUIDE = TOP / "docs" / "guide" / "feed-forward.md"


def read_safetensors(path):
    """{name: (shape, floats)}"""
    data = path.read_bytes()
    size, = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            tensors[name] = entry["shape"], memoryview(data)[begin:end].cast("f")
    return tensors


class FeedForward(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "feed_forward.safetensors"
            cls.printed = subprocess.run([os.environ["EXAMPLE"], file], check=True,
                                         capture_output=True, text=True).stdout
            cls.tensors = read_safetensors(file)

    def test_prints_what_the_guide_shows(self):
        self.assertIn(self.printed.strip(), GUIDE.read_text(encoding="utf-8"))

    def test_sizes_are_equal(self):
        sizes = re.findall(r"^(?:input|output) +\[(.*)\]$", self.printed, re.MULTILINE)
        self.assertEqual(sizes, ["64, 100, 512"] * 2)
        shape = [64, 100, 512]
        self.assertEqual(self.tensors["input"][0], shape)
        self.assertEqual(self.tensors["output"][0], shape)

    def test_has_the_parameters_of_the_paper(self):
        self.assertEqual(self.tensors["linear1.weight"][0], [2048, 512])
        self.assertEqual(self.tensors["linear2.weight"][0], [512, 2048])
        self.assertIn(f"# {2 * 512 * 2048 + 512 + 2048} parameters", self.printed)

    def test_numbers_are_those_of_pytorch(self):
        golden = json.loads((TOP / "tests" / "goldens" / "feed_forward.json").read_text())
        shape, values = self.tensors["output"]
        self.assertEqual(shape, golden["shape"])
        self.assertAlmostEqual(sum(values) / len(values), golden["mean"], delta=1e-6)
        square = sum(v * v for v in values) / len(values)
        self.assertAlmostEqual(square, golden["mean_square"], delta=1e-6)
        for row in golden["rows"]:
            sentence, token, column = row["at"]
            begin = (sentence * shape[1] + token) * shape[2] + column
            for ours, theirs in zip(values[begin:begin + 8], row["values"], strict=True):
                self.assertAlmostEqual(ours, theirs, delta=4 * golden["float32_error"])


if __name__ == "__main__":
    unittest.main()
