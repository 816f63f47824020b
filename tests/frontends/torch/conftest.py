import pytest

pytest.importorskip("torch", reason="torch is not installed: its tensors are not tried")
