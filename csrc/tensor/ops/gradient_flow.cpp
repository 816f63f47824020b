#include "tensor/ops/gradient_flow.h"

namespace md {

bool passes_gradient(const OpRow& row) {
  return row.kind != OpKind::Creation && row.kind != OpKind::Random && !row.has(kCutsGradient);
}

}  // namespace md
