"""What every player has in common: state that is synchronised, the thin widget, pages and words.

A player is three things: a state (`PlayerState`, plain traits), a picture (an ES module over the
shared parts in `static/`), and a shell (`Player`, which adds nothing but the way to show it).
"""

from __future__ import annotations
