"""The strip at the top of a chapter: its parts, what is done of each, and what to do next.

A list with words in it, so that it can be read aloud; marks and forms, never colour alone.
"""

from __future__ import annotations

from datetime import datetime
from html import escape

from .. import exercises
from ..language import Text, say
from . import cards, chapters
from .cards import Card
from .frame import neighbours
from .memory import standings
from .parts import Part, parts
from .tracks import Track, track
from .where import PartState, Work, states, upcoming

_LABEL = Text("Where you are in chapter {chapter:02d}", "你在第 {chapter:02d} 章的位置")
_PARTS, _EXERCISES = Text("Parts", "小节"), Text("Exercises", "练习")
_QUESTIONS = Text("Questions", "题目")
_STATE = {
    "done": Text("done", "已完成"),
    "begun": Text("begun", "进行中"),
    "open": Text("not yet", "还没做"),
    "prose": Text("to read", "阅读"),
}
#: every state has a sign of its own, so that no colour has to be seen
_MARKS = {"done": "✓", "begun": "◐", "open": "○", "prose": "·"}
_HERE = Text("you were here last", "上次在这里")
_MINUTES = Text("about {minutes} min", "约 {minutes} 分钟")
_EXERCISE = Text("exercise {id}, {title}", "练习 {id}，{title}")
_LEFT = Text("{n} questions left", "还剩 {n} 题")
_FINISHED = Text("Everything in this chapter is done.", "这一章全部完成了。")
_EVERY = Text("Exercises and questions done, by chapter", "各章已完成的练习和题目")
_AS_OF = Text("as of {at}", "截至 {at}")
_TRACK_TITLE = Text("Track: {name}", "路线：{name}")
_TRACK_ABOUT = Text(
    "{about}. About {hours}, an estimate; {done} of {of} parts done.",
    "{about}。约 {hours}（估计）；已完成 {done} / {of} 节。",
)
_HOURS = Text("{n} hours", "{n} 小时")
_BRACKETS = Text(" ({words})", "（{words}）")
_NEXT_TO = Text("Next: {to}", "接下来：{to}")
_COLON, _SEMICOLON = Text(": ", "："), Text("; ", "；")


def state_of(state: PartState) -> str:
    """done, begun, open, or prose for a part in which nothing is to be done."""
    if not state.countable:
        return "prose"
    return "done" if state.done else "begun" if state.begun else "open"


def strip_card(chapter: int, *, now: datetime | None = None) -> Card:
    """The strip of one chapter, as of now; empty where the chapter has no parts."""
    found = states(chapter)
    if not found:
        return Card("", "")
    at = say(_AS_OF, at=f"{now or datetime.now():%Y-%m-%d %H:%M}")
    counted = counts(found)
    every = [(f"{s.chapter:02d}", s.done, s.total) for s in standings()]
    label = escape(say(_LABEL, chapter=chapter))
    bars = "".join(
        f"<span>{escape(name)}&ensp;{done} / {of}{cards.bar(done, of)}</span>"
        for name, done, of in counted
    )
    items = "".join(_item(number, state) for number, state in enumerate(found, 1))
    body = (
        f'<nav class="fc-way" aria-label="{label}">'
        f'<ol class="fc-parts">{items}</ol>'
        f'<div class="fc-strip fc-wide">{bars}</div>{_next_html(chapter, found)}'
        f'<p class="fc-soft">{escape(_legend())}</p>'
        f'<p class="fc-soft">{escape(say(_EVERY))}</p>{cards.strip(every, f"{chapter:02d}")}'
        f'<p class="fc-soft">{escape(at)}</p></nav>'
    )
    text = "  ".join(f"{label} {done}/{of}" for label, done, of in every)
    return Card(body, f"{_text(chapter, found, at)}\n{say(_EVERY)}{say(_COLON)}{text}")


def _legend() -> str:
    """What the signs mean, in words."""
    return "  ".join(f"{mark} {say(_STATE[kind])}" for kind, mark in _MARKS.items())


def counts(found: list[PartState]) -> list[tuple[str, int, int]]:
    """(name, done, of) for parts, exercises and questions; what a chapter lacks is left out."""
    rows = [
        (_PARTS, sum(s.done for s in found), sum(s.countable for s in found)),
        (_EXERCISES, sum(s.passed for s in found), sum(len(s.part.exercises) for s in found)),
        (_QUESTIONS, sum(s.answered for s in found), sum(s.questions for s in found)),
    ]
    return [(say(name), done, of) for name, done, of in rows if of]


def described(number: int, state: PartState) -> str:
    """A part in words: number, heading, state, minutes, and whether the learner was last there."""
    said = [say(_STATE[state_of(state)]), say(_MINUTES, minutes=state.part.minutes)]
    said += [say(_HERE)] if state.here else []
    return f"{number} {_plain(state.part.title)}{say(_COLON)}{say(_SEMICOLON).join(said)}"


def _plain(title: str) -> str:
    return title.replace("`", "").replace("*", "")


def _item(number: int, state: PartState) -> str:
    words = escape(described(number, state), quote=True)
    here = ' aria-current="step"' if state.here else ""
    kind = state_of(state)
    return (
        f'<li class="fc-part fc-{kind}"{here}><a href="{escape(state.part.link, quote=True)}" '
        f'title="{words}" aria-label="{words}"><span>{number}</span><b>{_MARKS[kind]}</b></a></li>'
    )


def next_words(found: list[PartState]) -> tuple[str, Part] | None:
    """What to do next, and the part in which it stands; None if everything is done."""
    state = upcoming(found)
    if state is None:
        return None
    if state.run < len(state.part.code):
        return say(_MINUTES, minutes=state.part.minutes), state.part
    if state.unpassed:
        name = state.unpassed[0]
        return say(_EXERCISE, id=name, title=say(exercises.get(name).title)), state.part
    return say(_LEFT, n=state.questions - state.answered), state.part


def _next_html(chapter: int, found: list[PartState]) -> str:
    coming = next_words(found)
    if coming is not None:
        words, part = coming
        link = _link(part.link, _plain(part.title))
        return f"<p>{say(_NEXT_TO, to=link)}{escape(say(_BRACKETS, words=words))}</p>"
    after = following(chapter)
    tail = say(_NEXT_TO, to=_link(after[1], after[0])) if after else ""
    return f"<p>{escape(say(_FINISHED))} {tail}</p>"


def following(chapter: int) -> tuple[str, str] | None:
    """Name and file of the chapter after this one; None after the last that teaches."""
    _, number = neighbours(chapter)
    found = parts(number) if number in chapters.TITLES else ()
    if number is None or not found:
        return None
    return f"{number:02d} {say(chapters.title(number))}", found[0].link.partition("#")[0]


def _link(to: str, text: str) -> str:
    return f'<a href="{escape(to, quote=True)}">{escape(text)}</a>'


def _text(chapter: int, found: list[PartState], at: str) -> str:
    row = "  ".join(f"{name} {done}/{of}" for name, done, of in counts(found))
    lines = [f"{say(_LABEL, chapter=chapter)} ({at})", row]
    coming = next_words(found)
    if coming is None:
        lines.append(say(_FINISHED))
    else:
        words, part = coming
        lines.append(say(_NEXT_TO, to=_plain(part.title)) + say(_BRACKETS, words=words))
    return "\n".join(lines)


def track_card(name: str) -> Card:
    """Every part of a track, chapter by chapter, with minutes and what is done.

    Raises:
        UnknownNameError: if there is no such track.
    """
    way, work = track(name), Work.read()
    every = [(number, states(number, work)) for number in way.chapters]
    rows = [
        (number, [s for s in found if way.id in s.part.tracks], found) for number, found in every
    ]
    everything = [state for _, found, _ in rows for state in found]
    kept = [_kept(way, number, whole) for number, _, whole in rows]
    done = sum(s.done for s in everything) + sum(passed for some in kept for *_, passed in some)
    about = say(
        _TRACK_ABOUT,
        about=say(way.about),
        hours=hours(way.minutes([state.part for state in everything], way.kept())),
        done=done,
        of=sum(state.countable for state in everything) + len(way.kept()),
    )
    title = say(_TRACK_TITLE, name=say(way.name))
    body = cards.head(title) + f"<p>{escape(about)}</p>"
    lines = [title, about]
    for (number, found, _), extra in zip(rows, kept, strict=True):
        head = f"{number:02d} {say(chapters.title(number))}"
        minutes = way.minutes([state.part for state in found], way.kept(number))
        spent = say(_MINUTES, minutes=minutes)
        entries = [_entry(state, way) for state in found] + [entry for entry, _ in extra]
        body += f'<h3 class="fc-chapter">{escape(head)} <small>{escape(spent)}</small></h3>'
        body += f'<ul class="fc-list">{"".join(_line(*entry) for entry in entries)}</ul>'
        lines.append(f"{head}  {spent}")
        lines += [f"  {_MARKS[kind]} {text}  {minutes}" for kind, _, text, minutes in entries]
    return Card(body, "\n".join(lines))


Entry = tuple[str, str, str, str]  # state, link, what it is, minutes


def _entry(state: PartState, way: Track) -> Entry:
    spent = say(_MINUTES, minutes=way.minutes([state.part]))
    return state_of(state), state.part.link, _plain(state.part.title), spent


def _kept(way: Track, chapter: int, found: list[PartState]) -> list[tuple[Entry, bool]]:
    """The exercises of a chapter that this track keeps, and whether each was passed."""
    rows = []
    for name in way.kept(chapter):
        state = next(state for state in found if name in state.part.exercises)
        passed = name not in state.unpassed
        words = say(_EXERCISE, id=name, title=say(exercises.get(name).title))
        spent = say(_MINUTES, minutes=way.minutes([], [name]))
        rows.append((("done" if passed else "open", state.part.link, words, spent), passed))
    return rows


def _line(kind: str, to: str, text: str, spent: str) -> str:
    words = f"<small>{escape(say(_STATE[kind]))}{say(_SEMICOLON)}{escape(spent)}</small>"
    mark = f'<b class="fc-{kind}" aria-hidden="true">{_MARKS[kind]}</b>'
    return f"<li>{mark} {_link(to, text)} {words}</li>"


def hours(minutes: int) -> str:
    """Minutes as hours, in halves up to five and whole beyond.

    Example:
        >>> hours(113), hours(544)
        ('2 hours', '9 hours')
    """
    number = round(minutes / 60 * 2) / 2 if minutes < 300 else round(minutes / 60)
    return say(_HOURS, n=f"{number:g}")
