"""The table of workloads, in the order in which they are measured."""

from . import arrays, calls, models, pointwise, products, reductions, stencils
from .table import Row

MODULES = (calls, pointwise, reductions, products, models, stencils, arrays)
ROWS: dict[str, Row] = {row.name: row for module in MODULES for row in module.ROWS}
