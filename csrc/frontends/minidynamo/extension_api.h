// The capsule of functions for extensions compiled by users: python/minidynamo/include/minidynamo/extension_api.h.
#pragma once
#include "cpython/ref.h"

namespace md {

Ref extension_api_capsule();

}  // namespace md
