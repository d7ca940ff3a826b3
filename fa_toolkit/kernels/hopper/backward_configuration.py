"""What can be chosen about the Hopper backward, and what is chosen.

As for the forward: `BackwardConfig` is a way to run, `BackwardPlan` adds what the call fixes and is
the one constant that the kernel is compiled for.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

#: keys of one consumer group, the rows of one product of the tensor cores, and groups in a program
GROUP_KEYS = 64
GROUPS = 2
PER_PROGRAM = GROUPS * GROUP_KEYS


@dataclass(frozen=True)
class BackwardConfig:
    """One way to run the backward."""

    #: queries of a step, and slots of the rings of Q and dO
    block_m: int = 64
    stages: int = 2
    #: dQ is that of the step before, so that the groups need not keep step
    late: bool = True
    #: the scores of the next step are made beside the end of this one
    prefetch: bool = False
    #: groups take turns at the tensor cores
    turns: bool = False
    #: dS is made of the rounded P that dV reads: fewer registers, a little less exact
    rounded_p: bool = False
    #: the addresses of K and V are made anew in every step, so that none waits in a register
    fresh: bool = True
    #: one program for each SM draws tiles of keys until none is left
    persistent: bool = False
    consumer_regs: int = 240
    producer_regs: int = 24
    #: key heads worked on side by side; if 0 as many as fill the GPU once, under a mask up to twice
    section: int = 0

    def shared(self, d: int) -> int:
        """Bytes of shared memory that the tiles take."""
        keys = PER_PROGRAM
        inputs = 2 * d * (2 * keys + 2 * self.stages * self.block_m)
        ds = 2 * self.stages * keys * self.block_m
        out = 2 * d * keys if self.persistent else 0
        return inputs + ds + out + 4 * self.block_m * d + 8 * self.stages * self.block_m


@dataclass(frozen=True)
class BackwardPlan(BackwardConfig):
    """A configuration and what the call fixes."""

    d: int = 128
    causal: bool = False
    #: the last tile of keys is not full
    ragged: bool = False

    @property
    def keys(self) -> int:
        """Keys of a program."""
        return PER_PROGRAM

    @property
    def schedule(self) -> int:
        """As in `schedule`: one program a tile of keys, or whoever is free draws the next."""
        return 2 if self.persistent else 0

    @property
    def kv_tile(self) -> list[int]:
        """Shape of the keys or values of one group, and of their gradients."""
        return [GROUP_KEYS, self.d]

    @property
    def q_tile(self) -> list[int]:
        """Shape of the queries of a step, and of their dO."""
        return [self.block_m, self.d]

    @property
    def s_tile(self) -> list[int]:
        """Shape of the transposed scores of one group: keys down, queries across."""
        return [GROUP_KEYS, self.block_m]

    @property
    def split_rows(self) -> bool:
        """Whether the groups share dQ by rows, which fills a product, or else by columns."""
        return self.block_m == PER_PROGRAM

    @property
    def dq_tile(self) -> list[int]:
        """Shape of what one group computes of dQ."""
        return [GROUP_KEYS, self.d] if self.split_rows else [self.block_m, self.d // 2]

    @property
    def sums_tile(self) -> list[int]:
        """The same as rows of 128 bytes, in which the copy engine adds it up."""
        return [self.block_m * self.d // (32 * GROUPS), 32]

    @classmethod
    def of(cls, config: BackwardConfig, **fixed: Any) -> BackwardPlan:
        """The plan of a call."""
        return cls(**{f.name: getattr(config, f.name) for f in fields(BackwardConfig)}, **fixed)


_64 = BackwardConfig(block_m=128, rounded_p=True)
#: D -> (length from which on, what runs), longest first; measured on an H200
CHOICES: dict[int, tuple[tuple[int, BackwardConfig], ...]] = {
    64: ((16384, _64), (0, replace(_64, persistent=True))),
    128: ((4096, BackwardConfig()), (0, BackwardConfig(persistent=True))),
}


def backward_config(d: int, len_q: int, len_k: int, causal: bool) -> BackwardConfig:
    """What to run for heads of width d; of two lengths the shorter one counts."""
    length = min(len_q, len_k)
    return next(config for least, config in CHOICES[d] if length >= least)
