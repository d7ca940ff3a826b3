"""How Flash Attention's traffic grows, and the tile that reaches that order. Constants left out.

The theorem: Theta(N^2 d^2 / M) elements, for d <= M <= N d, with M elements of SRAM.
"""

from __future__ import annotations

from ..errors import ArgumentError
from ..language import Text
from ..problem import AttentionProblem, TileShape


def io_order(problem: AttentionProblem, sram_elements: int) -> float:
    """N^2 d^2 / M: elements that must move, up to a constant, with M elements of SRAM.

    A bigger SRAM holds taller tiles, and K and V are streamed once per tile. M is the SRAM that
    one program has, so of one SM. With Nq, Nk, D and Dv apart: Nq Nk D Dv / M, for all heads.

    Raises:
        ArgumentError: if M is outside d..N d, where the theorem says nothing.

    Example:
        >>> problem = AttentionProblem(len_q=4096, len_k=4096)
        >>> io_order(problem, 65536) / io_order(problem, 131072)
        2.0
    """
    _in_range(problem, sram_elements)
    scores = problem.batch * problem.heads_q * problem.len_q * problem.len_k
    return scores * problem.head_dim * problem.head_dim_v / sram_elements


def fa1_tile(problem: AttentionProblem, sram_elements: int) -> TileShape:
    """The tile that the first paper chooses for M elements of SRAM.

        BLOCK_N = ceil(M / 4d),  BLOCK_M = min(BLOCK_N, d)

    Raises:
        ArgumentError: if M is outside d..N d.

    Example:
        >>> fa1_tile(AttentionProblem(len_q=4096, len_k=4096), 83456)  # 163 KiB of fp16
        TileShape(block_m=64, block_n=326)
    """
    _in_range(problem, sram_elements)
    width = max(problem.head_dim, problem.head_dim_v)
    block_n = -(-sram_elements // (4 * width))
    return TileShape(block_m=min(block_n, width), block_n=block_n)


def _in_range(problem: AttentionProblem, sram_elements: int) -> None:
    width = max(problem.head_dim, problem.head_dim_v)
    most = max(problem.len_q, problem.len_k) * width
    if not width <= sram_elements <= most:
        raise ArgumentError(
            "sram_elements",
            expected=Text(
                f"d <= M <= N d, here {width}..{most}", f"d ≤ M ≤ N d，这里是 {width} 到 {most}"
            ),
            got=str(sram_elements),
            hint=Text(
                "outside it the theorem says nothing: a smaller M holds not one row, a larger one"
                " holds everything, and each tensor moves once",
                "超出这个范围，定理不适用：M 再小，一行都放不下；M 再大，全都放得下，各搬一次就够",
            ),
        )
