// The history of what a captured region computed and went back through itself: freed, as that of eager code is then.
#pragma once
#include "tensor/tensor.h"

namespace md {

// The same elements, as a result whose history was freed: a backward through it raises.
Tensor with_freed_history(const Tensor& tensor);

}  // namespace md
