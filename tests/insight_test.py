"""insight: claims are listed, answered in two languages, drawn in every format, and refuse bad input."""

import csv
import io
import json
import os
import pathlib
import re
import shutil
import unittest
import xml.etree.ElementTree

from program import ProgramTest, rapt

TOP = pathlib.Path(__file__).parent.parent

SHORT = {"similarity": ["--draws", 500], "variance": ["--draws", 200, "--longest", 64],
         "dice": ["--draws", 1000], "saturation": ["--draws", 50, "--longest", 64],
         "vanishing": ["--d-k", 16, "--draws", 50, "--layers", 1, "--steps", 2],
         "residual": ["--layers", 4, "--probe-sentences", 32, "--fit-steps", 20, "--trained-layers", 2, "--steps", 2],
         "depth": ["--depths", "1,2", "--steps", 2],
         "feed-forward": ["--layer-d-model", 32, "--layer-d-ff", 64, "--repeats", 1, "--steps", 2],
         "normalization": ["--steps", 10, "--repeats", 1, "--set-sentences", 64, "--trained-layers", 1],
         "heads": ["--steps", 10, "--layers", 1], "sink": ["--steps", 10, "--layers", 1]}  # claims that take long, made short
CLAIMS = [line.split()[0] for line in rapt("insight").stdout.splitlines()]
HANGUL = re.compile("[가-힣]")


def short(name):
    return ["insight", name, *SHORT.get(name, []), "--threads", 1]


class Insight(ProgramTest):
    def test_claims_are_listed_with_a_sentence(self):
        lines = self.run_ok("insight").stdout.splitlines()
        self.assertIn("similarity", CLAIMS)
        for line in lines:
            self.assertRegex(line, r"^  \S+ +[A-Z].*\.$")
        korean = self.run_ok("insight", "--lang", "ko").stdout.splitlines()
        self.assertEqual([line.split()[0] for line in korean], CLAIMS)
        for line in korean:
            self.assertRegex(line, HANGUL)
        usage = self.run_ok("insight", "--help").stdout
        for line in lines:
            self.assertIn(line, usage)

    def test_every_claim_explains_its_options(self):
        for name in CLAIMS:
            usage = self.run_ok("insight", name, "--help").stdout
            for flag in ("--seed", "--lang", "--full", "--out", "--threads", "--width"):
                self.assertIn(flag, usage, name)

    def test_prints_table_chart_and_verdict(self):
        out = self.run_ok(*short("similarity")).stdout
        self.assertIn("Holds when the vectors have equal lengths", out)
        self.assertIn("share of draws (%)", out)
        out = self.run_ok(*short("similarity"), "--lang", "ko").stdout
        self.assertRegex(out, "조건부로 성립한다: ")
        narrow = self.run_ok(*short("similarity"), "--width", 60).stdout
        chart = narrow.split("The dot product as a measure")[1].split("Holds when")[0]
        self.assertLessEqual(max(map(len, chart.splitlines())), 60)

    def test_formats(self):
        outs = {}
        for extension in ("svg", "csv", "json"):
            out = self.folder / f"figure.{extension}"
            self.assertEqual(self.run_ok(*short("similarity"), "--out", out).stdout, "")
            outs[extension] = out.read_text(encoding="utf-8")
        self.assertTrue(xml.etree.ElementTree.fromstring(outs["svg"]).tag.endswith("svg"))
        self.assertGreater(len(list(csv.reader(io.StringIO(outs["csv"])))), 20)
        data = json.loads(outs["json"])
        self.assertEqual(data["claim"], "similarity")
        self.assertEqual(data["verdict"], "holds when")
        self.assertEqual(data["options"]["draws"], 500)
        self.assertEqual(data["command"], "rapt insight similarity --draws 500")
        self.assertIn(data["command"], data["figure"]["caption"])
        self.assertEqual(data["numbers"]["agreement_equal_lengths"], 100)

    @unittest.skipUnless(shutil.which("rsvg-convert"), "rsvg-convert is not installed")
    def test_pdf_and_png(self):
        for extension, magic in (("pdf", b"%PDF"), ("png", b"\x89PNG")):
            out = self.folder / f"figure.{extension}"
            self.run_ok(*short("similarity"), "--out", out, "--width", 500)
            self.assertEqual(out.read_bytes()[:4], magic)
        self.assertEqual(int.from_bytes(out.read_bytes()[16:20], "big"), 500)

    def test_without_the_converter_its_package_is_named(self):
        environment = {**os.environ, "PATH": str(self.folder)}
        self.assert_fails(1, "librsvg2-bin", arguments=[*short("similarity"), "--out", self.folder / "a.png"],
                          env=environment)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_same_seed_same_figure(self):
        figures = []
        for threads, seed in ((1, 5), (2, 5), (2, 6)):
            out = self.folder / "figure.json"
            self.run_ok(*short("similarity"), "--threads", threads, "--seed", seed, "--out", out)
            figures.append(json.loads(out.read_text(encoding="utf-8"))["figure"]["panels"])
        self.assertEqual(figures[0], figures[1])
        self.assertNotEqual(figures[1], figures[2])

    def test_full_changes_defaults_alone(self):
        out = self.folder / "figure.json"
        self.run_ok("insight", "similarity", "--full", "--d-k", 2, "--out", out)
        data = json.loads(out.read_text(encoding="utf-8"))
        self.assertEqual((data["options"]["draws"], data["options"]["d_k"]), (200000, 2))
        self.assertEqual(data["command"], "rapt insight similarity --d-k 2 --full")

    def test_every_claim_in_both_languages(self):
        for name in CLAIMS:
            english, korean = self.folder / "en.json", self.folder / "ko.json"
            self.run_ok(*short(name), "--lang", "en", "--out", english)
            self.run_ok(*short(name), "--lang", "ko", "--out", korean)
            en, ko = (json.loads(path.read_text(encoding="utf-8")) for path in (english, korean))
            self.assertEqual(en["numbers"], ko["numbers"], name)
            for key in ("statement", "sentence"):
                self.assertNotRegex(en[key], HANGUL, name)
                self.assertRegex(ko[key], HANGUL, name)
            self.assertNotRegex(json.dumps(en["figure"], ensure_ascii=False), HANGUL, name)
            self.assertRegex(ko["figure"]["title"], HANGUL, name)

    def test_heads_and_sink_of_a_model(self):
        out = self.folder / "out.json"
        texts = self.write("texts.tsv", "cab\nebb\tb b e\n")
        for name, source in (("heads", ["--input", "cab\tb a c"]), ("heads", ["--data", texts]),
                             ("sink", ["--data", texts, "--lines", 1])):
            self.run_ok("insight", name, "--model", self.model(), *source, "--out", out)
            data = json.loads(out.read_text(encoding="utf-8"))
            rows = data["tables"]["layers"]
            self.assertEqual(len(rows), 3 if name == "heads" else 2)  # cross attention has no first token to gather on
            if name == "heads":
                self.assertEqual(data["numbers"]["heads"], 6)
                self.assertEqual({row["kind"] for row in rows}, {"encoder", "decoder", "cross attention"})
            else:
                self.assertIsNone(data["numbers"]["sink_with"])
        for arguments, fragment in ((["--input", "123"], "--input has no symbol that the model knows, first: '1'"),
                                    (["--input", ""], "give one of them"),
                                    (["--data", self.write("empty", "")], "which is empty"),
                                    (["--data", self.write("blank", "cab\n\n")], "line 2 is empty")):
            self.assert_fails(2, fragment, arguments=["insight", "heads", "--model", self.model(), *arguments])
        self.assert_fails(1, "none.tsv", arguments=["insight", "heads", "--model", self.model(), "--data",
                                                    self.folder / "none.tsv"])

    def test_numbers_are_documented(self):
        guide = (TOP / "docs/guide/insight.md").read_text(encoding="utf-8")
        for name in CLAIMS:
            section = guide.split(f"### `{name}`")[1].split("\n### ")[0]
            named = set(re.findall(r"`…?([a-z0-9_]+)`", section))
            families = tuple(re.findall(r"`([a-z0-9_]+_)…`", section))
            out = self.folder / "out.json"
            self.run_ok(*short(name), "--out", out)
            data = json.loads(out.read_text(encoding="utf-8"))
            for key in [*data["numbers"], *data["tables"]]:
                self.assertTrue(key.startswith(families) or any(key.endswith(n) for n in named), f"{name}: {key}")

    def test_claims_of_the_notes_hold(self):
        done = self.run_ok("insight", "check", TOP / "docs/notes/claims.toml", "--json")
        for line in map(json.loads, done.stdout.splitlines()):
            self.assertTrue(line["holds"], line)
            self.assertIn(line["command"].split()[2], CLAIMS)

    def test_check_tells_what_fails(self):
        claim = "[[claim]]\nname = '{}'\nsentence = 'x'\nexperiment = 'dice --draws 1000'\nexpect = '{}'\n"
        path = self.write("claims.toml", claim.format("a", "sum_low == 64") + claim.format("b", "sum_low > 64"))
        done = self.assert_fails(1, arguments=["insight", "check", path])
        self.assertRegex(done.stdout, r"holds  a: x\n.*sum_low = 64 == 64")
        self.assertRegex(done.stdout, r"FAILS  b: x\n.*sum_low = 64 > 64")
        self.assertIn("1 of 2 claims hold.", done.stdout)
        for content, fragment in (
                (claim.format("a", "low > 64"), "measures no 'low', expected one of"),
                (claim.format("a", "sum_low > 6 * 4"), "claims.toml:1: a: '*'"),
                (claim.format("a", "sum_low > 64").replace("dice -", "nice -"), "no claim 'nice'"),
                (claim.format("a", "sum_low > 64").replace("--draws", "--drafts"), "--drafts"),
                (claim.format("a", "sum_low > 64").replace("--draws 1000", "--out x.svg"), "neither --help nor --out"),
                (claim.format("a", "sum_low > 64").replace("--draws 1000", "--help"), "neither --help nor --out"),
                ("[[claim]", "claims.toml:1")):
            self.assert_fails(2, fragment, arguments=["insight", "check", self.write("claims.toml", content)])
        self.assert_fails(1, "none.toml", arguments=["insight", "check", self.folder / "none.toml"])

    def test_bad_input(self):
        for arguments, fragment in (
                (["--nonsense"], "--nonsense"),
                (["nonsense"], "there is no claim 'nonsense', expected one of"),
                (["similarity", "--d-k", 0], "expected 2 to 65536, found '0'"),
                (["similarity", "--d-k", -5], "found '-5'"),
                (["similarity", "--d-k", "9" * 30], "expected 2 to 65536"),
                (["saturation", "--scale", "root"], "--scale is 'root', expected sqrt, none or a positive number"),
                (["saturation", "--keys", 1], "expected 2 to 1000"),
                (["saturation", "--scale", "1e308"], "up to 1e6"),
                (["dice", "--seed", -1], "--seed"),
                (["heads", "--length", 1], "expected at least 2"),
                (["sink", "--length", 1], "expected at least 2"),
                (["variance", "--correlation", 2], "expected 0 to 1"),
                (["depth", "--depths", "6,x"], "--depths is '6,x', expected numbers of layers from 1 to 1000"),
                (["depth", "--residuals", "post,sideways"], "expected one of none, plain, post"),
                (["residual", "--heads", 5], "heads 5 do not divide"),
                (["attention", "--input", " "], "--input has 0 words, expected 1 to 12"),
                (["attention", "--input", os.fsdecode(b"\xff")], "--input"),
                (["normalization", "--set-sentences", 100], "expected a multiple of 64"),
                (["normalization", "--features", 0], "expected 2 to 4096, found '0'"),
                (["heads", "--input", "cab"], "--model, which is not given"),
                (["sink", "--model", self.folder], "give one of them"),
                (["similarity", "--lang", "fr"], "--lang"),
                (["similarity", "--out", self.folder / "figure.gif"], ".svg, .pdf, .png, .csv or .json"),
                (["similarity", "--out", self.folder / "none" / "figure.svg"], "make it first"),
                (["all"], "--out"),
                (["all", "--out", self.folder / "none"], "make it first")):
            self.assert_fails(2, fragment, arguments=["insight", *arguments])
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_report_is_one_page_about_a_model(self):
        model, data = self.model(), self.tsv()
        page, korean, numbers = (self.folder / name for name in ("page.html", "ko.html", "page.json"))
        done = self.run_ok("insight", "report", "--model", model, "--data", data, "--sentences", 5, "--out", page)
        self.assertIn("Saturated queries", done.stdout)
        text = page.read_text(encoding="utf-8")
        self.assertIn("5 sentences", text)
        self.assertNotRegex(text, HANGUL)
        self.assertNotRegex(text, r" (src|href)=")
        self.run_ok("insight", "report", "--model", model, "--data", data, "--lang", "ko", "--out", korean)
        self.assertRegex(korean.read_text(encoding="utf-8"), HANGUL)
        seen = []
        for threads in (1, 2):
            self.run_ok("insight", "report", "--model", model, "--data", data, "--threads", threads, "--out", numbers)
            seen.append(json.loads(numbers.read_text(encoding="utf-8")))
        self.assertEqual(seen[0], seen[1])
        self.assertEqual(seen[0]["sentences"], 24)
        self.assertEqual({row["kind"] for row in seen[0]["attention"]}, {"encoder", "decoder", "cross"})

    def test_report_refuses_bad_input(self):
        model, data = self.model(), self.tsv()
        foreign, plain = self.write("foreign.tsv", "ㅎ\tㅋ\n"), self.write("plain.tsv", "abc\n")
        before = sorted(self.folder.iterdir())
        for code, fragment, given, more in (
                (2, "the model knows none of them", foreign, []),
                (1, "line 1 has no tab", plain, []),
                (1, "none.tsv", self.folder / "none.tsv", []),
                (2, "make it first", data, ["--out", self.folder / "none" / "page.html"]),
                (2, ".html or .json", data, ["--out", self.folder / "page.svg"])):
            out = more or ["--out", self.folder / "page.html"]
            self.assert_fails(code, fragment, arguments=["insight", "report", "--model", model, "--data", given, *out])
        self.assert_fails(1, "nowhere", arguments=["insight", "report", "--model", "nowhere", "--data", data])
        self.assertEqual(sorted(self.folder.iterdir()), before)


if __name__ == "__main__":
    unittest.main()
