"""How a property test tries random examples: how many, and whether always the same."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings


def examples(default: int) -> int:
    """`FA_EXAMPLES` if that is set."""
    return int(os.environ.get("FA_EXAMPLES", default))


def lane(count: int) -> settings:
    """So many examples, the same in every run unless FA_EXAMPLES is set."""
    return settings(
        max_examples=count,
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
