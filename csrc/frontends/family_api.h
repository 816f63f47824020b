// What an extension module outside of this library needs to bring a tensor family: a capsule, minidynamo._C._families.
#pragma once
#include "frontends/tensor_language.h"

namespace md {

struct FamilyApi {
  static constexpr const char* kCapsuleName = "minidynamo._C._families";
  const TensorFamily* own;  // a row to start from: it speaks torch's words
  void (*register_type)(PyTypeObject* type, const TensorFamily& family);
  const OpRow* (*find_op)(std::string_view name);
};

// A new reference.
Ref family_api_capsule();

}  // namespace md
