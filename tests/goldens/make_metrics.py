#!/usr/bin/env python3
"""Writes metrics.json: sacreBLEU's figures for lines that pull its tokenisers apart.

Needs sacrebleu (tried with 2.6.0) and regex. Usage: tests/goldens/make_metrics.py
"""

import json
from pathlib import Path

import sacrebleu
from sacrebleu.metrics import BLEU, CHRF

# (hypothesis, references): punctuation at numbers, entities, quotes, other scripts and spaces,
# repetition that must be clipped, nothing at all, letters whose lower case is longer.
LINES = [
    ("The cat sat on the mat.", ["The cat is sitting on the mat."]),
    ("the the the the the the the", ["The cat is on the mat."]),
    ("He paid $1,234.50 (about 1.100 euros) on 3-4 May.",
     ["He paid $1,234.50 (about 1,100 euros) on the 3-4 of May."]),
    ("\"Really?\" she asked -- \"yes, really!\"", ["\"Really?\", she asked: \"Yes, really...\""]),
    ("R&amp;D is &lt;fun&gt; &quot;here&quot;", ["R&D is <fun> \"here\""]),
    ("a <skipped> token, and so on", ["a token, and so on"]),
    ("It's the users' choice: don't ask.", ["It is the user's choice, don't ask."]),
    ("Zwei Männer spielen Fußball in München.", ["Zwei Männer spielen in München Fußball."]),
    ("„Größe“ kostet 5 € – oder 4,50 €?", ["„Größe“ kostet 5,00 € — oder nur 4,50 €."]),
    ("안녕하세요, 세계!", ["안녕하세요 세계!"]),
    ("注意力就是你所需要的一切。", ["你所需要的只是注意力。"]),
    ("ΟΔΥΣΣΕΥΣ and İstanbul", ["οδυσσευς and i̇stanbul"]),
    ("one\u00a0two\u2003three\u3000four", ["one two three four five"]),
    ("emoji 😀😀 and ½ × 3² ≠ 4", ["emoji 😀 and ½ × 3² = 4"]),
    ("ends in 1999.", ["ends in 1999 ."]),
    ("..,,-- 1.-2 3,-,4 .5", [".. ,, -- 1 .-2 3, -,4 0.5"]),
    ("trailing spaces   ", ["  trailing spaces"]),
    ("exactly the same line, word for word", ["exactly the same line, word for word"]),
    ("x", ["y"]),
    ("", ["an empty hypothesis"]),
    ("no reference", [""]),
]
MORE = [
    ("The cat sat on the mat.", ["The cat is sitting on the mat.", "A cat sat on the mat."]),
    ("A dog runs, fast", ["The dog is running quickly", "A dog runs fast", "dogs run"]),
    ("to be or not to be", ["to be or not", "whether to be or not to be, that"]),
]
VARIABLE = MORE + [("alone with one reference", ["alone with a reference"])]
SHORT = [("a b", ["a b"]), ("c", ["d"]), ("e f g", ["e g f"])]
NOTHING = [("foo bar baz qux", ["one two three four"])]
LONGER = [("a b c d e f g h", ["a b c d"]), ("i j k l m", ["i j k l"])]
SETS = {"lines": LINES, "more": MORE, "variable": VARIABLE, "short": SHORT, "nothing": NOTHING,
        "longer": LONGER}


def streams(references):
    """[line][k] to sacreBLEU's [k][line], with None where a line has fewer."""
    most = max(len(r) for r in references)
    return [[r[k] if k < len(r) else None for r in references] for k in range(most)]


def signature(metric):
    return metric.get_signature().format().rsplit("|version", 1)[0]


def bleu_case(name, hypotheses, references, tokenizer, lowercase, effective):
    metric = BLEU(tokenize=tokenizer, lowercase=lowercase, effective_order=effective, force=True)
    s = metric.corpus_score(hypotheses, streams(references))
    return {"set": name, "tokenizer": tokenizer, "lowercase": lowercase, "effective": effective,
            "score": s.score, "precisions": s.precisions, "bp": s.bp, "sys_len": s.sys_len,
            "ref_len": s.ref_len, "text": s.format(), "signature": signature(metric)}


def chrf_case(name, hypotheses, references, word_order, lowercase):
    metric = CHRF(word_order=word_order, lowercase=lowercase)
    s = metric.corpus_score(hypotheses, streams(references))
    return {"set": name, "word_order": word_order, "lowercase": lowercase, "score": s.score,
            "signature": signature(metric)}


def main():
    sets, bleu, chrf, tokens = {}, [], [], []
    for name, pairs in SETS.items():
        hypotheses, references = [p[0] for p in pairs], [p[1] for p in pairs]
        sets[name] = {"hypotheses": hypotheses, "references": references}
        for lowercase in (False, True):
            for tokenizer in ("13a", "intl", "char", "none"):
                for effective in (False, True):
                    bleu.append(bleu_case(name, hypotheses, references, tokenizer, lowercase,
                                          effective))
            for word_order in (0, 2):
                chrf.append(chrf_case(name, hypotheses, references, word_order, lowercase))
    for i, (hypothesis, references) in enumerate(LINES):  # single lines: nothing averages out
        for tokenizer in ("13a", "intl", "char", "none"):
            metric = BLEU(tokenize=tokenizer, force=True)
            for line in [hypothesis] + references:
                text = metric._preprocess_segment(line)
                tokens.append({"tokenizer": tokenizer, "line": line, "tokens": text.split()})
        single = {"set": "lines", "line": i}
        for word_order in (0, 2):
            chrf.append(chrf_case("lines", [hypothesis], [references], word_order, False) | single)
        bleu.append(bleu_case("lines", [hypothesis], [references], "13a", False, True) | single)
    out = {"sacrebleu": sacrebleu.__version__, "sets": sets, "bleu": bleu, "chrf": chrf,
           "tokens": tokens}
    path = Path(__file__).with_name("metrics.json")
    path.write_text(json.dumps(out, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
