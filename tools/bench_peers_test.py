"""bench_peers: what it makes of the lines of both programs."""

import importlib.machinery
import importlib.util
import pathlib
import unittest

PATH = pathlib.Path(__file__).with_name("bench_peers")
LOADER = importlib.machinery.SourceFileLoader("bench_peers", str(PATH))
bench_peers = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_peers", LOADER))
LOADER.exec_module(bench_peers)


def line(peer, case, ms, **more):
    return {"peer": peer, "case": case, "ms": ms, "shape": {"T": 32}, **more}


class Table(unittest.TestCase):
    def results(self, *lines):
        results = bench_peers.Results()
        for one in lines:
            results.add(one)
        results.add_backward()
        return results

    def ratios(self, *lines):
        return {(ours["case"], theirs["case"]): bench_peers.time_of(theirs) / bench_peers.time_of(ours)
                for _, _, ours, theirs in self.results(*lines).pairs()}

    def test_the_best_turn_of_each_counts(self):
        lines = [line("rapt", "x", 4.0), line("torch", "x", 9.0), line("rapt", "x", 2.0), line("torch", "x", 6.0)]
        self.assertEqual(self.ratios(*lines), {("x", "x"): 3.0})

    def test_shapes_are_kept_apart(self):
        other = {"shape": {"T": 64}}
        lines = [line("rapt", "x", 4.0), line("torch", "x", 9.0) | other]
        self.assertEqual(self.ratios(*lines), {})

    def test_backward_is_both_less_forward(self):
        lines = [line(peer, case, ms) for peer, forward, both in (("rapt", 1.0, 3.0), ("torch", 2.0, 8.0))
                 for case, ms in (("x_forward", forward), ("x_forward_backward", both))]
        self.assertEqual(self.ratios(*lines)["x_backward", "x_backward"], 3.0)

    def test_packed_products_are_compared_with_both_layouts(self):
        name = "_float32_8x512x512"
        lines = [line("rapt", "gemm_packed" + name, 2.0), line("torch", "gemm_nn" + name, 3.0),
                 line("torch", "gemm_nt" + name, 4.0)]
        self.assertEqual(sorted(self.ratios(*lines).values()), [1.5, 2.0])

    def test_a_row_says_who_was_faster_and_memory_is_a_share(self):
        results = self.results(line("rapt", "x", 2.0, peak_rss_mb=10.0), line("torch", "x", 5.0, peak_rss_mb=40.0))
        self.assertEqual(bench_peers.table(results)[2:],
                         ["| x T=32 | 2 ms | torch 5 ms | 2.50 |", "| x T=32 peak_rss_mb | 10 | torch 40 | 0.25 of it |"])


if __name__ == "__main__":
    unittest.main()
