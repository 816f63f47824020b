#include "guards/tensor_type.h"

#include <vector>

#include "base/error.h"

namespace md {
namespace {

// Read by every guard check; written at import only, under the GIL. Never destroyed.
std::vector<TensorType>& tensor_types() {
  static auto* types = new std::vector<TensorType>;
  return *types;
}

}  // namespace

void register_tensor_type(const TensorType& type) {
  // Pointers returned by find_tensor_type stay valid: the vector never grows past this.
  constexpr size_t kMost = 16;
  std::vector<TensorType>& types = tensor_types();
  types.reserve(kMost);
  MD_ASSERT(types.size() < kMost, "too many tensor types");
  types.push_back(type);
}

const TensorType* find_tensor_type(PyTypeObject* type) {
  for (const TensorType& candidate : tensor_types()) {
    if (candidate.type == type) return &candidate;
  }
  return nullptr;
}

const TensorType& default_tensor_type() {
  MD_ASSERT(!tensor_types().empty(), "no tensor type is registered");
  return tensor_types().front();
}

}  // namespace md
