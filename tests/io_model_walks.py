"""Every algorithm of the I/O model as a program that is walked load by load and only counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from fa_toolkit import io_model
from fa_toolkit.problem import (
    AttentionProblem,
    TileShape,
    column_tiles,
    key_tiles,
    query_tiles,
    row_tiles,
)


class Walk:
    """A run of the algorithm, load by load, that only counts."""

    def __init__(self, problem: AttentionProblem, tile: TileShape) -> None:
        self.problem, self.tile = problem, tile
        self.by_tensor: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        self.phases: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        self.phase = ""

    def move(self, way: int, tensor: str, rows: tuple[int, int], width: int) -> None:
        size = 4 if tensor in ("lse", "Delta", "m", "l") else self.problem.itemsize
        moved = (rows[1] - rows[0]) * width * size
        if moved:
            self.by_tensor[tensor][way] += moved
            self.phases[self.phase][way] += moved

    def load(self, tensor: str, rows: tuple[int, int], width: int = 1) -> None:
        self.move(0, tensor, rows, width)

    def store(self, tensor: str, rows: tuple[int, int], width: int = 1) -> None:
        self.move(1, tensor, rows, width)

    def heads(self, *, of: str = "q") -> range:
        p = self.problem
        return range(p.batch * (p.heads_q if of == "q" else p.heads_kv))

    def rows(self) -> list[tuple[int, int]]:
        return list(row_tiles(self.problem, self.tile))

    def columns(self) -> list[tuple[int, int]]:
        return list(column_tiles(self.problem, self.tile))


def walk_standard_forward(w: Walk) -> None:
    p = w.problem
    for _ in w.heads():
        for rows in w.rows():
            w.phase = "scores"
            w.load("Q", rows, p.head_dim)
            for columns in w.columns():
                w.load("K", columns, p.head_dim)
                w.store("S", rows, columns[1] - columns[0])
            w.phase = "softmax"
            w.load("S", rows, p.len_k)
            w.store("P", rows, p.len_k)
            w.phase = "output"
            for columns in w.columns():
                w.load("P", rows, columns[1] - columns[0])
                w.load("V", columns, p.head_dim_v)
            w.store("O", rows, p.head_dim_v)


def walk_flash_forward(w: Walk) -> None:
    p, w.phase = w.problem, "forward"
    for _ in w.heads():
        for rows in w.rows():
            w.load("Q", rows, p.head_dim)
            for columns in key_tiles(p, w.tile, *rows):
                w.load("K", columns, p.head_dim)
                w.load("V", columns, p.head_dim_v)
            w.store("O", rows, p.head_dim_v)
            w.store("lse", rows)


def walk_fa1_forward(w: Walk) -> None:
    p, w.phase = w.problem, "init"
    for _ in w.heads():
        w.store("O", (0, p.len_q), p.head_dim_v)
        w.store("m", (0, p.len_q))
        w.store("l", (0, p.len_q))
    w.phase = "forward"
    for _ in w.heads():
        for columns in w.columns():
            w.load("K", columns, p.head_dim)
            w.load("V", columns, p.head_dim_v)
            for rows in query_tiles(p, w.tile, *columns):
                w.load("Q", rows, p.head_dim)
                for move in (w.load, w.store):
                    move("O", rows, p.head_dim_v)
                    move("m", rows)
                    move("l", rows)


def walk_flash_backward(w: Walk) -> None:
    p, w.phase = w.problem, "delta"
    for _ in w.heads():
        for rows in w.rows():
            w.load("O", rows, p.head_dim_v)
            w.load("dO", rows, p.head_dim_v)
            w.store("Delta", rows)
    w.phase = "dkdv"
    for _ in w.heads(of="kv"):
        for columns in w.columns():
            w.load("K", columns, p.head_dim)
            w.load("V", columns, p.head_dim_v)
            for _ in range(p.group):
                for rows in query_tiles(p, w.tile, *columns):
                    w.load("Q", rows, p.head_dim)
                    w.load("dO", rows, p.head_dim_v)
                    w.load("lse", rows)
                    w.load("Delta", rows)
            w.store("dK", columns, p.head_dim)
            w.store("dV", columns, p.head_dim_v)
    w.phase = "dq"
    for _ in w.heads():
        for rows in w.rows():
            w.load("Q", rows, p.head_dim)
            w.load("dO", rows, p.head_dim_v)
            w.load("lse", rows)
            w.load("Delta", rows)
            for columns in key_tiles(p, w.tile, *rows):
                w.load("K", columns, p.head_dim)
                w.load("V", columns, p.head_dim_v)
            w.store("dQ", rows, p.head_dim)


def walk_standard_backward(w: Walk) -> None:
    p = w.problem
    for _ in w.heads(of="kv"):
        for columns in w.columns():
            width = columns[1] - columns[0]
            for phase, scores, streamed, dim, grad in (
                ("grad_v", "P", "dO", p.head_dim_v, "dV"),
                ("grad_k", "dS", "Q", p.head_dim, "dK"),
            ):
                w.phase = phase
                for _ in range(p.group):
                    for rows in w.rows():
                        w.load(scores, rows, width)
                        w.load(streamed, rows, dim)
                w.store(grad, columns, dim)
    for _ in w.heads():
        for rows in w.rows():
            w.phase = "grad_p"
            w.load("dO", rows, p.head_dim_v)
            for columns in w.columns():
                w.load("V", columns, p.head_dim_v)
                w.store("dP", rows, columns[1] - columns[0])
            w.phase = "softmax"
            w.load("P", rows, p.len_k)
            w.load("dP", rows, p.len_k)
            w.store("dS", rows, p.len_k)
            w.phase = "grad_q"
            for columns in w.columns():
                w.load("dS", rows, columns[1] - columns[0])
                w.load("K", columns, p.head_dim)
            w.store("dQ", rows, p.head_dim)


Counted = Callable[[AttentionProblem, TileShape], io_model.Traffic]
WALKS: dict[Counted, Callable[[Walk], None]] = {
    io_model.standard_forward_traffic: walk_standard_forward,
    io_model.flash_forward_traffic: walk_flash_forward,
    io_model.fa1_forward_traffic: walk_fa1_forward,
    io_model.flash_backward_traffic: walk_flash_backward,
    io_model.standard_backward_traffic: walk_standard_backward,
}
