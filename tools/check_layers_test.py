#!/usr/bin/env python3
"""Each fault that check_layers.py looks for is planted in a small tree, and must be found."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from check_layers import check_tree, closure, read_table  # noqa: E402

GOOD = {
    "CMakeLists.txt": "rapt_layer(base)\nrapt_layer(kernels USES base LINKS hwy)\n"
                      "rapt_layer(testing USES kernels)\nrapt_layer(ops USES kernels)\n",
    "docs/design.md": "| layer | what it holds | may use |\n|---|---|---|\n"
                      "| `base` | errors | – |\n| `kernels` | a \\| b | base |\n"
                      "| `testing` | harness | kernels |\n| `ops` | ops | kernels |\n"
                      "| `apps` | program | all but testing |\n"
                      "| `python` | module | all but testing, apps |\n"
                      "\n| another | table |\n| `extra` | base |\n",
    "docs/math/relu.md": "# ReLU\n",
    "rapt/base/check.h": "#pragma once\n#include <string>\n",
    "rapt/kernels/relu.h": '#include "rapt/base/check.h"\n',
    "rapt/kernels/relu_ref.h": "",
    "rapt/kernels/relu.cc": '#include "hwy/highway.h"\n#include "rapt/kernels/relu.h"\n',
    "rapt/kernels/simd-inl.h": "",
    "rapt/testing/oracle.h": "#include <hwy/highway.h>\n",
    "rapt/ops/relu.cc": '#include "rapt/kernels/relu.h"\nreturn ctx.record("relu", y, f);\n',
    "rapt/ops/weight.cc": '#include "rapt/base/check.h"\n',
    "rapt/ops/relu_test.cc": '#include "rapt/testing/oracle.h"\n',
    "apps/rapt/main.cc": '#include "apps/rapt/train.h"\n#include "rapt/ops/relu.h"\n',
    "tests/whole_test.cc": '#include "apps/rapt/train.h"\n#include "rapt/ops/relu.h"\n',
    "tools/check": "#!/bin/sh\n",
}


def faults_of(changes):
    """The faults of the good tree after `changes` {path: content, or None to remove it}."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in {**GOOD, **changes}.items():
            if text is not None:
                (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
                data = text if isinstance(text, bytes) else text.encode()
                (Path(folder) / path).write_bytes(data)
        return check_tree(Path(folder))


class CheckLayers(unittest.TestCase):
    def assert_fault(self, changes, *parts):
        faults = faults_of(changes)
        self.assertEqual(len(faults), 1, faults)
        for part in parts:
            self.assertIn(part, faults[0])

    def test_the_good_tree_passes(self):
        self.assertEqual(faults_of({}), [])

    def test_the_table_is_transitive(self):
        allowed = closure(read_table(GOOD["docs/design.md"]))
        self.assertEqual(allowed["ops"], {"ops", "kernels", "base"})
        self.assertEqual(allowed["apps"], {"apps", "base", "kernels", "ops"})
        self.assertEqual(allowed["python"], {"python", "base", "kernels", "ops"})

    def test_an_include_upwards(self):
        self.assert_fault({"rapt/kernels/relu.cc": '#include "rapt/ops/relu.h"\n'},
                          "rapt/kernels/relu.cc", "kernels may not use ops")

    def test_an_include_upwards_in_angle_brackets(self):
        self.assert_fault({"rapt/base/check.h": "#  include <rapt/kernels/relu.h>\n"},
                          "rapt/base/check.h", "base may not use kernels")

    def test_the_harness_outside_tests(self):
        self.assert_fault({"rapt/ops/relu.cc": '#include "rapt/testing/oracle.h"\n'},
                          "ops may not use testing")

    def test_the_program_from_the_library(self):
        self.assert_fault({"rapt/ops/relu.cc": '#include "apps/rapt/train.h"\n'},
                          "ops may not use apps")

    def test_highway_outside_kernels(self):
        self.assert_fault({"rapt/ops/relu.cc": "#include <hwy/highway.h>\n"}, "Highway")
        self.assert_fault({"tests/whole_test.cc": '#include "hwy/highway.h"\n'}, "Highway")

    def test_a_layer_without_a_row(self):
        self.assert_fault({"rapt/extra/x.h": ""}, "'extra' is not in the table")

    def test_links_that_differ_from_the_table(self):
        cmake = GOOD["CMakeLists.txt"].replace("ops USES kernels", "ops USES kernels testing")
        self.assert_fault({"CMakeLists.txt": cmake}, "'ops'", "testing")

    def test_length(self):
        self.assertEqual(faults_of({"rapt/base/check.h": "\n" * 400}), [])
        self.assert_fault({"rapt/base/check.h": "\n" * 401}, "401 lines")
        self.assert_fault({"tools/check": "#!/bin/sh\n" + "\n" * 400}, "tools/check", "401 lines")

    def test_undone_work(self):
        word = "TO" "DO"
        self.assert_fault({"rapt/base/check.h": f"\n// {word}: later\n"}, "check.h:2")
        self.assert_fault({"tools/check": f"#!/bin/sh\n# {word}(me)\n"}, "check:2")
        self.assertEqual(faults_of({"rapt/base/check.h": f"// {word}(#12): later\n"}), [])

    def test_an_op_without_its_test(self):
        self.assert_fault({"rapt/ops/relu_test.cc": None}, "rapt/ops/relu.cc", "relu_test.cc")

    def test_an_op_without_its_page(self):
        self.assert_fault({"docs/math/relu.md": None}, "docs/math/relu.md")

    def test_a_kernel_without_reference_or_test(self):
        self.assert_fault({"rapt/kernels/relu_ref.h": None}, "rapt/kernels/relu.cc", "relu_ref.h")
        self.assertEqual(
            faults_of({"rapt/kernels/relu_ref.h": None, "rapt/kernels/relu_test.cc": ""}), [])

    def test_bytes_that_are_not_utf8(self):
        self.assert_fault({"rapt/base/check.h": b"// \xff\n"}, "rapt/base/check.h", "not UTF-8")

    def test_a_tree_without_the_table(self):
        self.assert_fault({"docs/design.md": "# design\n"}, "no table")


if __name__ == "__main__":
    unittest.main()
