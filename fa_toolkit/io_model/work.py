"""Arithmetic of attention: FLOPs and exponentials, useful and issued. No bytes.

Useful work is done for pairs (query, key) that the mask lets through. Issued work is done for
every element of every tile that is visited, masked or past the end of the sequence included.
"""

from __future__ import annotations

from typing import Literal

from ..problem import AttentionProblem, TileShape
from .footprint import padded
from .spans import visible_pairs, visited_tiles

Pass = Literal["forward", "backward"]


def forward_flops(problem: AttentionProblem) -> int:
    """Useful FLOPs of the two matrix products of the forward pass, all heads.

        2 (D + Dv) per visible pair; without a mask and with Dv = D: 4 B H N^2 D

    Standard and Flash Attention do the same. Softmax is left out: count `exponentials`.

    Example:
        >>> forward_flops(AttentionProblem(len_q=1024, len_k=1024))
        268435456
    """
    pairs = problem.batch * problem.heads_q * visible_pairs(problem)
    return pairs * 2 * (problem.head_dim + problem.head_dim_v)


def backward_flops(problem: AttentionProblem) -> int:
    """Useful FLOPs of the five matrix products of the backward pass, all heads.

    S = QK^T again, dP = dO V^T, dV = P^T dO, dQ = dS K, dK = dS^T Q. With Dv = D this is 2.5
    times the forward pass; standard attention kept P and does four of the five.

    Example:
        >>> problem = AttentionProblem(len_q=1024, len_k=1024)
        >>> backward_flops(problem) / forward_flops(problem)
        2.5
    """
    pairs = problem.batch * problem.heads_q * visible_pairs(problem)
    return pairs * 2 * (3 * problem.head_dim + 2 * problem.head_dim_v)


def issued_flops(problem: AttentionProblem, tile: TileShape, pass_: Pass = "forward") -> int:
    """FLOPs the matrix units run for the tiles that Flash Attention visits, all heads.

    A tile costs BLOCK_M BLOCK_N products whether its pairs are visible or not, each as wide as the
    padded head dimension; skipped tiles cost nothing. The backward pass in three launches builds S
    and dP twice: seven products, not five.

    Example:
        >>> causal = AttentionProblem(len_q=1024, len_k=1024, causal=True)
        >>> issued_flops(causal, TileShape(128, 128)) / forward_flops(causal)
        1.1239...
    """
    dim, dim_v = padded(problem.head_dim), padded(problem.head_dim_v)
    tiles = visited_tiles(problem, tile)
    # dkdv and dq visit the same tiles as the forward pass, column by column and row by row
    products = dim + dim_v if pass_ == "forward" else (2 * dim + 2 * dim_v) + (2 * dim + dim_v)
    heads = problem.batch * problem.heads_q
    return heads * tiles * tile.block_m * tile.block_n * 2 * products


def exponentials(problem: AttentionProblem, tile: TileShape | None = None) -> int:
    """Exponentials of one forward pass, all heads.

    Without a tile: one per visible pair, what softmax itself needs. With a tile: what the tiled
    loop issues, one per element of a visited tile and one factor a row to rescale l and acc.

    Example:
        >>> problem = AttentionProblem(len_q=1024, len_k=1024)
        >>> exponentials(problem), exponentials(problem, TileShape(128, 64))
        (1048576, 1064960)
    """
    heads = problem.batch * problem.heads_q
    if tile is None:
        return heads * visible_pairs(problem)
    tiles = visited_tiles(problem, tile)
    return heads * tiles * tile.block_m * (tile.block_n + 1)
