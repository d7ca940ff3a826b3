"""Interview, review and readiness in the course: the store's answers meet the bank's questions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any

from ..errors import ArgumentError
from ..language import Text, current, say, using
from ..progress import reading
from ..progress.planned import plan_interview, planned_interview
from ..progress.readiness import Topic, readiness
from ..progress.rows import Attempt
from ..progress.schedule import Review, Schedule
from ..progress.times import local_date, settle
from ..quiz import grade, load_bank
from ..quiz.bank import Bank
from ..quiz.session import detail
from . import cards
from .cards import Card
from .memory import store

#: as many questions as one sitting holds
SITTING = 20
REVIEW = Text("Review", "复习")
_NOTHING_YET = Text(
    "Nothing to review yet: answer some questions first, here or in any chapter.",
    "还没有可复习的：先在这里或任一章答几道题。",
)
_NOTHING_DUE = Text(
    "Nothing is due. The next question comes back on {day}. Questions being watched: {n}.",
    "今天没有到期的题。下一道在 {day} 到期；共有 {n} 道题在复习计划里。",
)
_BY = Text(
    "Interview on {day}, {days}. Questions that would come back after it are asked "
    "again in the days before it: {n} so far.",
    "面试在 {day}，{days}。到那以后才会再出现的题，都提前到面试前几天：目前 {n} 道。",
)
_TOMORROW = Text("tomorrow", "就是明天")
_IN_DAYS = Text("in {n} days", "还有 {n} 天")
_NO_DAY = Text(
    "No interview is planned: review follows forgetting alone.",
    "没有定面试日期，复习只按遗忘来安排。",
)
_NO_INTERVIEW = Text("No interview has been held yet.", "还没有做过面试。")


def present() -> datetime:
    """Now, in UTC."""
    return datetime.now(UTC)


def schedule(now: datetime | None = None, zone: tzinfo | None = None) -> Schedule:
    """The review schedule of the learner's answers to questions that the bank still has."""
    bank, now = load_bank(), now or present()
    known = [a for a in store().attempts() if a.kind == "quiz" and a.item in bank.questions]
    timed = settle(completed(known, bank), now)
    return Schedule(timed, now, zone, planned_interview(store()))


def completed(attempts: Iterable[Attempt], bank: Bank) -> list[Attempt]:
    """Attempts with what their verdict said; those of the first version are judged once more."""
    return [
        attempt._replace(
            detail=detail(grade(attempt.item, attempt.answer, attempt.lang, bank=bank))
        )
        if not attempt.detail and bank.questions[attempt.item].kind == "text"
        else attempt
        for attempt in attempts
    ]


def plan_by(day: str | None) -> str:
    """Keep the day of an interview, or forget it with None; what that does to the review.

    Raises:
        ArgumentError: if it is no day to come.
    """
    try:
        wanted = None if day is None else date.fromisoformat(day)
    except ValueError:
        wanted = date.min
    today = date.fromisoformat(local_date(present()))
    if wanted is not None and wanted <= today:
        raise ArgumentError(
            "day",
            expected=Text("a day to come, year-month-day", "将来的日期，写成年-月-日"),
            got=repr(day)[:40],
            hint=(today + timedelta(days=8)).isoformat(),
        )
    plan_interview(store(), wanted)
    if wanted is None:
        return say(_NO_DAY)
    planned = schedule()
    plain = {r.item: r.due for r in Schedule(planned.timed, planned.now).reviews()}
    moved = sum(review.due != plain[review.item] for review in planned.reviews())
    left = (wanted - today).days
    days = say(_TOMORROW) if left == 1 else say(_IN_DAYS, n=left)
    return say(_BY, day=wanted.isoformat(), days=days, n=moved)


def due(limit: int | None = SITTING) -> tuple[Schedule, list[Review]]:
    """What is due now, likeliest forgotten first, and the schedule it comes from."""
    planned = schedule()
    return planned, planned.due()[:limit]


def nothing_due(planned: Schedule) -> str:
    """Why there is nothing to review, and when there will be."""
    soonest = planned.next_due()
    if soonest is None:
        return say(_NOTHING_YET)
    day = local_date(soonest, planned.zone)
    return say(_NOTHING_DUE, day=day, n=len(planned.states))


def review_card(limit: int = SITTING) -> Any:
    """The due questions as one card, or a sentence if there are none."""
    planned, found = due(limit)
    if not found:
        text = nothing_due(planned)
        return Card(cards.head(say(REVIEW)) + f'<p style="margin-top: 6px">{text}</p>', text)
    from ..quiz.widget import quiz

    kept, items = store(), [review.item for review in found]
    return quiz(
        load_bank().chapter_of(items[0]).number,
        only=items,
        title=REVIEW,
        lang=current(),
        record=kept.record,
        report=kept.note_said,
        learner=str(kept.learner),
    )


def topics(bank: Bank) -> dict[str, list[str]]:
    """The questions of each topic that has some."""
    found: dict[str, list[str]] = {name: [] for name in bank.topics}
    for question in bank.questions.values():
        found[question.topic].append(question.id)
    return {name: items for name, items in found.items() if items}


def standing(now: datetime | None = None) -> list[Topic]:
    """How ready the learner is, topic by topic."""
    return readiness(schedule(now), topics(load_bank()))


def weak() -> dict[str, float]:
    """Readiness by topic, of those with answers, so that an interview can begin with the weaker."""
    return {topic.name: topic.score for topic in standing() if topic.standing != "unseen"}


def opened() -> set[int]:
    """Chapters of which a cell was run or a question answered, in interviews aside."""
    answered = {a.chapter for a in store().attempts() if "interview" not in (a.detail or {})}
    return answered | reading.chapters(store())


def interview_state(**options: Any) -> Any:
    """An interview whose answers are kept, seeded so that no two ask the same."""
    from ..interview import Interview

    kept = store()
    return Interview(
        seed=f"{kept.learner} {len(kept.interviews())}",
        weak=weak(),
        opened=opened(),
        learner=str(kept.learner),
        record=kept.record,
        keep=kept.keep_interview,
        **options,
    )


def plan(
    minutes: int | None,
    topics: Sequence[str],
    level: str | None,
    bank: Bank,
    chapters: Sequence[int] = (),
) -> Any:
    """What was chosen for an interview, checked against the bank."""
    from ..interview import Plan

    chosen: dict[str, Any] = {"topics": tuple(topics), "chapters": tuple(chapters)}
    if minutes is not None:
        chosen["minutes"] = minutes
    if level is not None:
        chosen["level"] = level
    made = Plan(**chosen).fitting(bank)
    made.check(bank)
    return made


def last_report() -> Any:
    """The report of the latest interview, as kept; None if there was none."""
    held: Sequence[Any] = store().interviews()
    return held[-1].report if held else None


def last_report_card() -> Card:
    """The latest report as a card of text."""
    from ..interview import export

    report = last_report()
    if report is None:
        text = say(_NO_INTERVIEW)
        return Card(f"<p>{text}</p>", text)
    with using(report["lang"]):
        head = cards.head(export.label("report_title"), after=report["at"][:10])
        body = export.body(report)
    return Card(f'{head}<div class="fc-report">{body}</div>', export.plain(report))
