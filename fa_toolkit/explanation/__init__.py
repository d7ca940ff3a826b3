"""`explain`: what a call of `flash_attention` would run here or on another GPU, and why. Runs nothing."""

from .answer import Explanation, Launch
from .call import explain

__all__ = ["Explanation", "Launch", "explain"]
