"""What the quiz files say: two languages everywhere, one vocabulary, nothing copied."""

from __future__ import annotations

import re
from pathlib import Path

import yaml
from bank_texts import CJK, QUIZZES, bilingual_texts, chinese_prose, shingles, without_code

from fa_toolkit.quiz import load_bank

GLOSSARY = yaml.safe_load((QUIZZES / "glossary.yaml").read_text("utf-8"))
ARTICLE = Path(__file__).with_name("article_shingles.txt")
IS_CJK = re.compile(f"[{CJK}]")
ENGLISH_RUN = re.compile(r"\b[A-Za-z][A-Za-z'-]*(?:[ ,]+[A-Za-z][A-Za-z'-]*){4,}")
HALF_WIDTH = re.compile(rf"[{CJK}][,;:?!]|[,;:?!][{CJK}]|[{CJK}][(]|[)][{CJK}]|[{CJK}]\.(?:\s|$)")
UNSPACED = re.compile(rf"[{CJK}][A-Za-z0-9`]|[A-Za-z0-9`%][{CJK}]")
CODE_BLOCK = re.compile(r"```.*?```", re.DOTALL)


def test_every_text_has_both_languages() -> None:
    texts = bilingual_texts()
    assert len(texts) > 900
    for where, en, zh in texts:
        assert en.strip() and zh.strip(), where
        assert not IS_CJK.search(en), f"{where}: Chinese in the English text"


def test_chinese_is_chinese() -> None:
    for where, en, zh in bilingual_texts():
        prose = without_code(zh)
        assert not ENGLISH_RUN.search(prose), f"{where}: {prose}"
        if not IS_CJK.search(zh):  # a name, a number or code, the same in both languages
            assert len(re.findall(r"[A-Za-z]{2,}", without_code(en))) <= 3, f"{where}: {zh}"


def test_code_is_the_same_in_both_languages_and_ascii() -> None:
    for where, en, zh in bilingual_texts():
        assert CODE_BLOCK.findall(en) == CODE_BLOCK.findall(zh), where
        assert all(block.isascii() for block in CODE_BLOCK.findall(en)), where


def test_chinese_typography() -> None:
    for where, _, zh in bilingual_texts():
        prose = CODE_BLOCK.sub("\n", zh)
        for what, pattern in {"punctuation": HALF_WIDTH, "spacing": UNSPACED}.items():
            found = pattern.search(prose)
            assert not found, f"{where}: {what} at {prose[max(0, found.start() - 8) :][:24]!r}"


def test_voice() -> None:
    banned_en = ("simply", "powerful", "seamless", "important to note", "in this section")
    banned_zh = ("值得注意的是", "进行计算", "进行操作", "一个过程")
    for where, en, zh in bilingual_texts():
        assert "!" not in without_code(en), where
        assert "！" not in zh, where
        assert not any(word in en.lower() for word in banned_en), where
        assert not any(word in zh for word in banned_zh), where


# the glossary


def test_glossary_is_complete_and_unambiguous() -> None:
    assert len(GLOSSARY) >= 45
    assert len({entry["id"] for entry in GLOSSARY}) == len(GLOSSARY)
    for lang in ("en", "zh"):
        assert len({entry["term"][lang] for entry in GLOSSARY}) == len(GLOSSARY)
    for entry in GLOSSARY:
        assert set(entry) == {"id", "term", "definition", "avoid"}, entry["id"]
        assert entry["definition"]["en"].endswith("."), entry["id"]
        assert entry["definition"]["zh"].endswith("。"), entry["id"]


def test_no_term_is_forbidden_by_another() -> None:
    renderings = [entry["term"]["zh"] for entry in GLOSSARY]
    for entry in GLOSSARY:
        for variant in entry["avoid"]:
            assert not any(variant in rendering for rendering in renderings), variant


def test_forbidden_variants_do_not_occur() -> None:
    variants = [(v, e["term"]["zh"]) for e in GLOSSARY for v in e["avoid"]]
    found = [
        f"{where}: {variant}, write {rendering}"
        for where, text in chinese_prose()
        for variant, rendering in variants
        if variant in text
    ]
    assert not found, "\n".join(found)


def test_topics_are_all_used() -> None:
    bank = load_bank()
    assert {q.topic for q in bank.questions.values()} == set(bank.topics)


# the source article: facts carry over, sentences do not


def test_no_sentence_of_the_article_is_copied() -> None:
    article = set(ARTICLE.read_text("utf-8").splitlines()[1:])
    assert len(article) > 1000
    copied = [
        f"{where}: {words}"
        for where, text in chinese_prose()
        for digest, words in shingles(text)
        if digest in article
    ]
    assert not copied, "\n".join(copied)


def test_the_copy_check_would_notice() -> None:
    # the article itself is not here, so a sentence of ours plays its part
    source = "把一行切成两半以后，前一半的和要乘上 e^(2 − 4) 才对得上新的最大值。"
    known = {digest for digest, _ in shingles(source)}
    copied = "他说：前一半的和要乘上e^(2−4)，才对得上新的最大值，就这样。"
    restated = "最大值变了以后，先前累加的结果乘一个因子就行。"
    assert known & {digest for digest, _ in shingles(copied)}
    assert not known & {digest for digest, _ in shingles(restated)}
