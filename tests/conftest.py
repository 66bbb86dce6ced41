"""Settings shared by all tests."""

from __future__ import annotations

import matplotlib
from hypothesis import HealthCheck, settings

matplotlib.use("Agg")  # no screen is needed

# No deadline: the first call of a kernel may compile it. The same examples every time: a test
# that fails once in a while teaches people to run it again.
settings.register_profile(
    "sottovoce",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
settings.load_profile("sottovoce")
