"""Taking progress elsewhere and forgetting it, as cards and as the terminal says it."""

from __future__ import annotations

from html import escape
from pathlib import Path

from ..language import Text, say
from ..progress.exchange import export_to, import_from
from .cards import Card
from .memory import store

_EXPORTED = Text("Answers written to {path}: {n}.", "已把 {n} 条作答写入 {path}。")
_IMPORTED = Text("Answers added from {path}: {n}.", "已从 {path} 加入 {n} 条作答。")
_ASK = Text(
    "This would forget every answer, {n} in all, for good. If you mean it: "
    'fa.course.reset_progress(confirm="{phrase}"). To keep a copy, export first.',
    "这会把 {n} 条作答全部删除，无法恢复。确定的话："
    'fa.course.reset_progress(confirm="{phrase}")。想留一份，请先导出。',
)
_FORGOTTEN = Text("Answers forgotten: {n}.", "已删除 {n} 条作答。")


def exported(path: str) -> Card:
    """Export, and say so."""
    file = Path(path).expanduser()
    return _card(say(_EXPORTED, n=export_to(store(), file), path=file))


def imported(path: str) -> Card:
    """Import, and say how many were new."""
    file = Path(path).expanduser()
    return _card(say(_IMPORTED, n=import_from(store(), file), path=file))


def phrase() -> str:
    """What has to be typed to forget everything: it names how much there is to lose."""
    return f"forget {len(store().attempts())} answers"


def reset(confirm: str) -> Card:
    """Forget everything if the phrase was given, else say what would be lost."""
    if confirm != phrase():
        return _card(say(_ASK, n=len(store().attempts()), phrase=phrase()))
    return _card(say(_FORGOTTEN, n=store().reset()))


def _card(text: str) -> Card:
    return Card(f"<p>{escape(text)}</p>", text)
