"""Three ways through the course: which chapters in which order, which parts, and how long.

Minutes are estimates. A track that keeps some exercises counts the minutes of those alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ..errors import UnknownNameError
from ..language import Language, Text
from .chapters import TITLES
from .parts import FULL, Part, parts


@dataclass(frozen=True)
class Track:
    """A way through: its name, its chapters in order, and the exercises it keeps; None: all."""

    id: str
    name: Text
    about: Text
    chapters: tuple[int, ...]
    exercises: tuple[str, ...] | None = None

    def parts(self, lang: Language | None = None) -> list[Part]:
        """Its parts, in the order in which they are read."""
        return [
            part
            for number in self.chapters
            for part in parts(number, lang)
            if self.id in part.tracks
        ]

    def kept(self, chapter: int | None = None) -> tuple[str, ...]:
        """The exercises it keeps of those it would leave out, of one chapter or of all."""
        start = "" if chapter is None else f"{chapter:02d}."
        return tuple(name for name in self.exercises or () if name.startswith(start))

    def minutes(self, found: Sequence[Part], kept: Sequence[str] = ()) -> int:
        """What these parts and kept exercises take on this track, an estimate."""
        reading = sum(
            p.minutes - (0 if self.exercises is None else p.exercise_minutes) for p in found
        )
        if not kept:
            return reading
        from .counting import rounded, written  # which need the solutions, and so torch

        return reading + sum(rounded(written(name)) for name in kept)


TRACKS = MappingProxyType(
    {
        track.id: track
        for track in (
            Track(
                "short",
                Text("2 hours", "两小时"),
                Text("The one idea, by hand and in tiles", "核心想法：亲手算一遍，再分块看一遍"),
                (0, 3, 4),
            ),
            Track(
                "interview",
                Text("interview", "面试"),
                Text(
                    "What is asked: every quiz on the way, and four exercises for a whiteboard",
                    "面试会问的内容：一路的测验都做，练习只留四道当白板题",
                ),
                (0, 3, 1, 2, 4, 7, 8, 9, 11, 12),
                ("03.online", "03.merge", "04.forward", "09.split"),
            ),
            Track(
                FULL,
                Text("full", "完整"),
                Text("Everything, each exercise before you read on", "全部内容，先做练习再往下读"),
                tuple(TITLES),
            ),
        )
    }
)


def track(name: str) -> Track:
    """A track by its id.

    Raises:
        UnknownNameError: if there is none; the hint names them all.
    """
    if name not in TRACKS:
        raise UnknownNameError(
            "track",
            expected=Text("the id of a track", "一条路线的 id"),
            got=repr(name),
            hint=", ".join(TRACKS),
        )
    return TRACKS[name]
