"""What was answered and when: one SQLite file of the learner's own. Knows no question and no widget."""

from __future__ import annotations

from .readiness import readiness
from .schedule import Schedule, gaps
from .store import Store, store
from .summary import ChapterSummary, Summary

__all__ = ["ChapterSummary", "Schedule", "Store", "Summary", "gaps", "readiness", "store"]
