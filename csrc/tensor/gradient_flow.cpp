#include "tensor/gradient_flow.h"

namespace md {

bool passes_gradient(const OpRow& row) {
  static const OpRow* const detach = find_op("detach");
  return row.kind != OpKind::Creation && row.kind != OpKind::Random && &row != detach;
}

}  // namespace md
