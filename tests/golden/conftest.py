import pytest


@pytest.fixture(scope="module", autouse=True)
def optimized(graph_optimizer):
    """These tests run graphs as users do."""
