"""What was answered and when: one SQLite file of the learner's own. Knows no question and no widget."""

from __future__ import annotations

from .store import Store, store
from .summary import ChapterSummary, Summary

__all__ = ["ChapterSummary", "Store", "Summary", "store"]
