#include "tensor/ops/gradient_flow.h"

namespace md {

bool passes_gradient(const OpRow& row) { return row.derivative != "none"; }

}  // namespace md
