"""How a property test tries random examples: how many, and whether always the same."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings


def examples(default: int) -> int:
    """`FA_EXAMPLES` if that is set."""
    return int(os.environ.get("FA_EXAMPLES", default))


def lane(count: int, *, shrink: bool = True) -> settings:
    """So many examples, the same in every run unless FA_EXAMPLES is set.

    Without `shrink` a failure is reported as it was found: where each try compiles kernels, looking
    for a smaller one takes minutes.
    """
    return settings(
        max_examples=count,
        phases=[phase for phase in Phase if shrink or phase not in (Phase.shrink, Phase.explain)],
        derandomize="FA_EXAMPLES" not in os.environ,
        deadline=None,
        print_blob=True,
        # NaN in fresh memory is the same for all examples of a test; large calls are wanted
        suppress_health_check=[
            HealthCheck.function_scoped_fixture,
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.large_base_example,
        ],
    )
