"""The offline grader of written answers: rules over clauses, in English and Chinese.

Deterministic and pure: an answer is text to be looked at, never run, and nothing is asked of a
network. The words it knows and the patterns of each question are data in `quizzes/patterns/`.
"""

from __future__ import annotations
