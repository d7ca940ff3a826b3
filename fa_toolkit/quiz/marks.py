"""The graders of choice, many, order and match. Pure; answers are plain data by now."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from ..language import Language, Text, say
from .models import ChoiceQuestion, ManyQuestion, MatchQuestion, OrderQuestion
from .options import Option, find, lefts, options, rights
from .verdict import Item, Status, Verdict


class NotJudged(Exception):  # noqa: N818  (not an error: a status on its way to the verdict)
    """An answer that cannot be judged, with the status and a sentence for the reader."""

    def __init__(self, status: Status, note: Text) -> None:
        super().__init__(status)
        self.status, self._note = status, note

    @property
    def note(self) -> str:
        """The sentence in the language in force."""
        return say(self._note)


def empty(note: Text) -> NotJudged:
    """Nothing was answered."""
    return NotJudged("empty", note)


def unreadable(note: Text) -> NotJudged:
    """Something was answered that cannot be read."""
    return NotJudged("unreadable", note)


def not_an_answer() -> NotJudged:
    """An object no question can have as its answer."""
    return unreadable(Text("This is not an answer to a question.", "这不是一个答案。"))


def too_long(limit: int) -> NotJudged:
    """More than anybody would answer."""
    return NotJudged(
        "truncated",
        Text(
            f"The answer is longer than {limit:,} and was not read.",
            f"答案超过 {limit:,}，没有读下去。",
        ),
    )


_PICK_ONE = Text("Pick one option.", "请选一项。")
_PICK_SOME = Text("Tick at least one option.", "请至少选一项。")
_NO_OPTION = Text("That is none of the options.", "没有这个选项。")


def choice(question: ChoiceQuestion, answer: Any, lang: Language) -> Verdict:
    """100 for the right option, else 0 with the feedback of the one picked."""
    if isinstance(answer, list) and len(answer) == 1:
        answer = answer[0]
    if answer in (None, "", []) or (isinstance(answer, str) and not answer.strip()):
        raise empty(_PICK_ONE)
    listed = options(question)
    picked = find(listed, answer)
    if picked is None:
        raise unreadable(_NO_OPTION)
    claims = tuple(question.claims)
    items = {
        option.key: Item(option.key, c.text[lang], claims=claims, why=c.why[lang])
        for option, c in zip(listed, question.choices, strict=True)
    }
    right = next(o.key for o, c in zip(listed, question.choices, strict=True) if c.correct)
    hit = picked.key == right
    return Verdict(
        question.id,
        lang,
        "ok",
        score=100 if hit else 0,
        credited=(items[right],) if hit else (),
        missing=() if hit else (items[right],),
        misconceptions=() if hit else (items[picked.key],),
        said=items[picked.key].text,
        arithmetic=say(
            Text("the one right option picked", "选中了唯一的正确选项")
            if hit
            else Text("the one right option not picked", "没有选中唯一的正确选项")
        ),
        details={"picked": [picked.key], "right": [right], "whys": _whys(items)},
    )


def many(question: ManyQuestion, answer: Any, lang: Language) -> Verdict:
    """Right ones ticked minus wrong ones ticked, of all right ones, never below 0."""
    given = answer if isinstance(answer, list) else [] if answer in (None, "") else [answer]
    if not given:
        raise empty(_PICK_SOME)
    listed = options(question)
    picked = {found.key for entry in given if (found := find(listed, entry))}
    if any(find(listed, entry) is None for entry in given):
        raise unreadable(_NO_OPTION)
    claims = tuple(question.claims)
    credited: list[Item] = []
    missing: list[Item] = []
    wrong: list[Item] = []
    items: dict[str, Item] = {}
    right: list[str] = []
    for option, c in zip(listed, question.choices, strict=True):
        item = Item(option.key, c.text[lang], claims=claims, why=c.why[lang])
        items[option.key] = item
        if c.correct:
            right.append(option.key)
            (credited if option.key in picked else missing).append(item)
        elif option.key in picked:
            wrong.append(item)
    score = _percent(len(credited) - len(wrong), len(right))
    arithmetic = Text("{hits} of {all} right ones ticked", "{all} 个正确选项选中 {hits} 个")
    if wrong:
        arithmetic = Text(
            "{hits} of {all} right ones ticked, minus {slips} wrong",
            "{all} 个正确选项选中 {hits} 个，错选 {slips} 个要扣",
        )
    return Verdict(
        question.id,
        lang,
        "ok",
        score=score,
        credited=tuple(credited),
        missing=tuple(missing),
        misconceptions=tuple(wrong),
        said="; ".join(items[o.key].text for o in listed if o.key in picked),
        arithmetic=say(arithmetic, hits=len(credited), all=len(right), slips=len(wrong)),
        details={
            "picked": [o.key for o in listed if o.key in picked],
            "right": right,
            "whys": _whys(items),
        },
    )


def order(question: OrderQuestion, answer: Any, lang: Language) -> Verdict:
    """Neighbours that follow each other as they should, of all neighbours."""
    if answer in (None, "", []):
        raise empty(Text("Put the steps in order.", "请排出顺序。"))
    listed = options(question)
    given = [find(listed, entry) for entry in answer] if isinstance(answer, list) else []
    chosen = [option for option in given if option is not None]
    if len(given) != len(listed) or {o.key for o in chosen} != {o.key for o in listed}:
        raise unreadable(
            Text(f"Name each of the {len(listed)} steps once.", f"{len(listed)} 个步骤各写一次。")
        )
    credited: list[Item] = []
    contradicted: list[Item] = []
    follows = {a.key: b.key for a, b in pairwise(chosen)}
    for before, after in pairwise(listed):
        pair = _pair(before, after, lang, tuple(question.claims))
        (credited if follows.get(before.key) == after.key else contradicted).append(pair)
    whole = len(listed) - 1
    return Verdict(
        question.id,
        lang,
        "ok",
        score=_percent(len(credited), whole),
        credited=tuple(credited),
        contradicted=tuple(contradicted),
        said=" → ".join(option.text[lang] for option in chosen),
        arithmetic=say(
            Text(
                "{hits} of {all} steps directly follow the right one",
                "{all} 处先后衔接对了 {hits} 处",
            ),
            hits=len(credited),
            all=whole,
        ),
        details={
            "picked": [option.key for option in chosen],
            "right": [option.key for option in listed],
            "why": question.why_wrong[lang] if contradicted else "",
        },
    )


def _pair(before: Option, after: Option, lang: Language, claims: tuple[str, ...]) -> Item:
    return Item(
        f"{before.name}.{after.name}", f"{before.text[lang]} → {after.text[lang]}", claims=claims
    )


def match(question: MatchQuestion, answer: Any, lang: Language) -> Verdict:
    """Right pairs, of all pairs."""
    left, right = lefts(question), rights(question)
    joined = _joined(answer, left, right)
    if not any(joined.values()):
        raise empty(Text("Join at least one pair.", "请至少连一对。"))
    credited: list[Item] = []
    missing: list[Item] = []
    contradicted: list[Item] = []
    table = []
    for option, pair in zip(left, question.pairs, strict=True):
        wanted, got = find(right, pair.right.en), joined[option.key]
        assert wanted is not None
        text = f"{pair.left[lang]} — {pair.right[lang]}"
        item = Item(option.key, text, claims=tuple(question.claims), why=pair.why[lang])
        hit = got is not None and got.key == wanted.key
        (credited if hit else missing if got is None else contradicted).append(item)
        table.append(
            {
                "left": option.key,
                "got": got.key if got else "",
                "right": wanted.key,
                "why": pair.why[lang],
            }
        )
    return Verdict(
        question.id,
        lang,
        "ok",
        score=_percent(len(credited), len(question.pairs)),
        credited=tuple(credited),
        missing=tuple(missing),
        contradicted=tuple(contradicted),
        said="; ".join(
            f"{o.text[lang]} — {got.text[lang]}" for o in left if (got := joined[o.key])
        ),
        arithmetic=say(
            Text("{hits} of {all} pairs right", "{all} 对里对了 {hits} 对"),
            hits=len(credited),
            all=len(question.pairs),
        ),
        details={"pairs": table},
    )


def _joined(answer: Any, left: list[Option], right: list[Option]) -> dict[str, Option | None]:
    if isinstance(answer, list) and len(answer) <= len(left):
        answer = {option.key: entry for option, entry in zip(left, answer, strict=False)}
    if answer in (None, ""):
        answer = {}
    if not isinstance(answer, dict):
        raise unreadable(Text("Join left and right sides.", "请把左右两边连起来。"))
    joined: dict[str, Option | None] = {option.key: None for option in left}
    for name, value in answer.items():
        option = find(left, name)
        found = None if value in (None, "") else find(right, value)
        if option is None or (found is None and value not in (None, "")):
            raise unreadable(_NO_OPTION)
        joined[option.key] = found
    return joined


def _whys(items: dict[str, Item]) -> dict[str, str]:
    return {key: item.why for key, item in items.items()}


def _percent(hits: int, whole: int) -> int:
    return max(0, (200 * hits + whole) // (2 * whole))
