"""The place of checkpoint_wrapper."""

from __future__ import annotations

from ...._missing_names import explain_missing as _explain_missing

_explain_missing(__name__)
