#include "frontends/family_api.h"

#include "frontends/minidynamo/family.h"

namespace md {

Ref family_api_capsule() {
  static FamilyApi api{&own_family(), register_tensor_type, find_op};
  return check(PyCapsule_New(&api, FamilyApi::kCapsuleName, nullptr));
}

}  // namespace md
