"""lint/figures makes the figures of documents anew from raw results."""
import json
import unittest

from sample import LintCase

ROWS = {"rows": [
    {"size": 8, "avg": 2.416, "rivals": {"nccl": {"avg": 6.8}}},
    {"size": 16, "avg": 2.39, "rivals": {}},
    {"size": 32, "avg": 1, "rivals": {}}, {"size": 32, "avg": 2, "rivals": {}},
]}
GOALS = {"rounds": [
    {"bandwidth": {"64": {"H": 10, "D": d}}, "latency": {"D": 9, "bound": 10}}
    for d in (5, 6, 9)]}
DAY = "results/2026-01-01-x"


class Figures(LintCase):
    lint = "figures"

    def tree(self, text, *queries):
        block = "".join(line + "\n" for line in queries)
        return {DAY + "/a.json": json.dumps(ROWS),
                DAY + "/goals.json": json.dumps(GOALS),
                "README.md": f"{text}\n<!-- figures of {DAY}\n{block}-->\n"}

    def test_right_figures_pass(self):
        self.accept(self.tree(
            f"2.42 us at 8 B, 0.36 of NCCL's (`{DAY}`, NCCL 2.28.9),\n"
            "D D at 0.6\nof H H, slower than meant; fast\n",
            "avg a.json 8: 2.42 us", "ratio a.json 8 nccl: 0.36 of NCCL's",
            "goal goals.json 64: D D at 0.6 of H H",
            "below goals.json 64 0.7: slower than meant",
            "above goals.json latency 0.8: fast"))

    def test_wrong_figures(self):
        output = self.refuse(self.tree(
            "2.41 us\n0.35 of NCCL's, slower\n",
            "avg a.json 8: 2.41 us", "ratio a.json 8 nccl: 0.35 of NCCL's",
            "below goals.json 64 0.5: slower"),
            ["README.md:1 figure", "README.md:2 figure",
             "README.md:2 figure"])
        self.assertIn("says 2.41, the results say 2.42", output)
        self.assertIn("the results say otherwise", output)

    def test_words_that_are_not_there_once(self):
        self.refuse(self.tree("1.0 and 1.0", "avg a.json 8: 1.0 and 2.0",
                              "avg a.json 8: 1.0"),
                    ["README.md:3 words", "README.md:4 words"])

    def test_words_of_two_figures_or_none(self):
        self.refuse(self.tree("2.42 or 2.39 us at 8 B",
                              "avg a.json 8: 2.42 or 2.39",
                              "avg a.json 8: at 8 B"),
                    ["README.md:1 figure"] * 2)

    def test_queries_that_nothing_answers(self):
        queries = ("avg a.json 7", "avg a.json 32", "avg none.json 8",
                   "ratio a.json 16 nccl", "best a.json 8", "avg",
                   "avg a.json", "goal a.json 64")
        self.refuse(self.tree("2.42 us", "no query",
                              *(query + ": 2.42 us" for query in queries)),
                    [f"README.md:{3 + i} query"
                     for i in range(len(queries) + 1)])

    def test_figures_beside_results_without_a_query(self):
        self.refuse({DAY + "/README.md": "1.5 us\n",
                     "docs/x.md": f"2.5 us elsewhere\n1.5 us (`{DAY}`)\n"},
                    ["docs/x.md:2 unqueried"])


if __name__ == "__main__":
    unittest.main()
