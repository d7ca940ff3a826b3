"""Three ways through the course: which chapters in which order, which parts, and how long.

Minutes are estimates. A track that leaves the exercises out does not count their minutes.
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
    """A way through: its name, its chapters in order, and whether it does the exercises."""

    id: str
    name: Text
    about: Text
    chapters: tuple[int, ...]
    exercises: bool

    def parts(self, lang: Language | None = None) -> list[Part]:
        """Its parts, in the order in which they are read."""
        return [
            part
            for number in self.chapters
            for part in parts(number, lang)
            if self.id in part.tracks
        ]

    def minutes(self, found: Sequence[Part]) -> int:
        """What these parts take on this track, an estimate."""
        return sum(p.minutes - (0 if self.exercises else p.exercise_minutes) for p in found)


TRACKS = MappingProxyType(
    {
        track.id: track
        for track in (
            Track(
                "short",
                Text("2 hours", "两小时"),
                Text("The one idea, by hand and in tiles", "核心想法：亲手算一遍，再分块看一遍"),
                (0, 3, 4),
                True,
            ),
            Track(
                "interview",
                Text("interview", "面试"),
                Text(
                    "What is asked, with every quiz on the way and no exercises",
                    "面试会问的内容；一路的测验都做，练习跳过",
                ),
                (0, 3, 1, 2, 4, 9, 11, 12),
                False,
            ),
            Track(
                FULL,
                Text("full", "完整"),
                Text("Everything, each exercise before you read on", "全部内容，先做练习再往下读"),
                tuple(TITLES),
                True,
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
