import pytest

# Helpers' assertions say what they have compared, as those of test modules do.
pytest.register_assert_rewrite("tests.integration.several_processes", "tests.integration.crashing")
