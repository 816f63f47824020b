#include "frontends/tensor_language.h"

namespace md {

void TensorCallables::add(BorrowedRef callable, const TensorCallable& meaning) {
  if (by_callable_.try_emplace(callable.get(), meaning).second) Ref::share(callable).release();
}

const TensorCallable* TensorCallables::find(PyObject* callable) const {
  auto found = by_callable_.find(callable);
  return found == by_callable_.end() ? nullptr : &found->second;
}

}  // namespace md
