"""What can be chosen about the Hopper forward, and what is chosen.

`Config` is a way to run; `Plan` adds what the call fixes (width, mask, length), and is the one
constant the kernel is compiled for.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

GRID, SNAKE, DYNAMIC = 0, 1, 2  # as in `schedule`


@dataclass(frozen=True)
class Config:
    """One way to run the forward."""

    #: groups of four warps, and the rows of each
    groups: int = 2
    rows: int = 64
    block_n: int = 128
    #: slots of the ring of keys and values; buffers of Q for each group
    stages: int = 2
    q_buffers: int = 1
    schedule: int = DYNAMIC
    #: the first scores of the next rows are made beside the last P V of these
    joined: bool = True
    #: groups take turns at the tensor cores
    pingpong: bool = True
    #: scores are made before the P V of the tile before is done
    overlap: bool = True
    #: the keys of a slot may be overwritten while its values are still read
    early_k: bool = False
    #: exponentials are held before the wait for P V
    pin: bool = True
    #: Q is kept in registers / O is stored from the buffer of Q
    q_regs: bool = False
    share_qo: bool = False
    #: where the diagonal meets the corner of a tile, the upper group makes half of its first scores
    halved: bool = False
    #: of every eight eights of columns, how many are exponentiated by multiply-adds
    fma_columns: int = 0
    consumer_regs: int = 240
    producer_regs: int = 24
    #: programs on one SM
    per_sm: int = 1
    #: megabytes of keys and values that the heads of a section may have together: without a mask those
    #: that fill the GPU once; under one the lengths differ, and longer sections end more evenly
    section_mb: float = 32

    @property
    def early_q(self) -> bool:
        """Whether Q of the next rows may come before these are done: there is room for it."""
        return self.joined and (self.q_regs or self.q_buffers > 1)

    @property
    def parts(self) -> int:
        """Parts of a slot that are given back by themselves."""
        return 1 + self.early_k

    @property
    def places(self) -> int:
        """Turns whose place is kept: until O is stored, when Q has been given back for two more."""
        return self.q_buffers + 2

    @property
    def threads(self) -> int:
        """Threads of a program: the producer's warp is counted as a group."""
        return 128 * (self.groups + 1)

    def shared(self, d: int) -> int:
        """Bytes of shared memory that the tiles take."""
        q_and_o = self.groups * self.rows * (self.q_buffers + (not self.share_qo))
        return 2 * d * (q_and_o + 2 * self.stages * self.block_n)


@dataclass(frozen=True)
class Plan(Config):
    """A configuration and what the call fixes."""

    d: int = 128
    causal: bool = False
    #: the first tile of keys of some row is not seen whole
    ragged: bool = False
    #: and neither is, for some row, a tile after that
    steps_masked: bool = False

    def first_columns(self, group: int) -> int:
        """Columns of the first scores that a group makes: the others no row of it sees."""
        if self.halved and self.causal and not self.steps_masked:
            return self.rows * (group + 1)
        return self.block_n

    @property
    def q_tile(self) -> list[int]:
        """Shape of the rows of one group: of Q and of O."""
        return [self.rows, self.d]

    @property
    def kv_tile(self) -> list[int]:
        """Shape of a tile of keys or values."""
        return [self.block_n, self.d]

    @classmethod
    def of(cls, config: Config, **fixed: Any) -> Plan:
        """The plan of a call."""
        return cls(**{f.name: getattr(config, f.name) for f in fields(Config)}, **fixed)


def plan_of(config: Config, d: int, len_q: int, len_k: int, causal: bool) -> Plan:
    """What the kernel is compiled for.

    Where the diagonal begins at the corner of a square tile, only the first step of a tile of rows
    has anything to mask.
    """
    square = config.rows * config.groups == config.block_n and (len_k - len_q) % config.block_n == 0
    ragged = causal or len_k % config.block_n != 0
    return Plan.of(config, d=d, causal=causal, ragged=ragged, steps_masked=causal and not square)


#: two groups at D = 64, and three, which read keys and values a third less often, with fewer registers
TWO = Config(stages=3, q_buffers=2)
THREE = replace(TWO, groups=3, consumer_regs=160, producer_regs=32)
_64 = Config(stages=3, q_regs=True, halved=True)
_128 = Config(q_regs=True, halved=True, early_k=True)
_256 = Config(block_n=64, share_qo=True, joined=False, pingpong=False, early_k=True)
#: (D, causal) -> (length from which on, what runs), longest first; measured on an H200
CHOICES: dict[tuple[int, bool], tuple[tuple[int, Config], ...]] = {
    (64, False): ((512, replace(THREE, section_mb=8)), (0, replace(TWO, section_mb=8))),
    (64, True): (
        (4096, replace(THREE, q_buffers=1, joined=False)),
        (1024, replace(_64, section_mb=16)),
        (0, replace(_64, section_mb=8)),
    ),
    (128, False): ((0, Config(q_regs=True, section_mb=8)),),
    (128, True): (
        (2048, _128),
        (1024, replace(_128, section_mb=16)),
        (0, replace(_128, section_mb=8)),
    ),
    (256, False): ((0, replace(_256, section_mb=8)),),
    (256, True): ((2048, replace(_256, section_mb=64)), (0, _256)),
}


def forward_config(d: int, len_q: int, len_k: int, causal: bool) -> Config:
    """What to run for rows of width d; of two lengths the shorter one counts."""
    length = min(len_q, len_k)
    return next(config for least, config in CHOICES[d, causal] if length >= least)
