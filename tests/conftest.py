"""Reference data that lives beside the checkout, where it does; tests that need it skip with a reason where it does not."""

import os
from pathlib import Path

import pytest

BESIDE = Path(__file__).parent.parent.parent / "shared"


def _reference(*parts: str) -> Path:
    root = Path(os.environ.get("SERDES_REACH_REFERENCE_DATA", BESIDE))
    path = root.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"reference data not here: set SERDES_REACH_REFERENCE_DATA to a folder with {'/'.join(parts)}")
    return path


@pytest.fixture(scope="session")
def cases_dir() -> Path:
    """Small inputs that users stumble over, with independently computed values."""
    return _reference("cases")


@pytest.fixture(scope="session")
def channels_dir() -> Path:
    """Measured and synthetic Touchstone files of real channels."""
    return _reference("data", "channels")
