// Shared by the files that call oneDNN: the engine, dtypes, errors, the cache of primitives.
#pragma once
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/error.h"
#include "tensor/gemm/onednn.h"
#include "tensor/parallel/threads.h"

namespace md::onednn {

std::optional<dnnl::memory::data_type> data_type(DType dtype);  // nullopt if oneDNN does not support it on a CPU
const dnnl::engine& engine();
dnnl_stream_t stream();  // of this thread
void check(dnnl_status_t status, const char* what);

dnnl::primitive_attr own_scratchpad();  // provided by the caller

std::string layout_text(const dnnl::memory::desc& desc);  // equal texts: the same layout

// Whether it is oneDNN's reference code, which is slower than our own loops.
bool is_reference(const dnnl::primitive_desc_base& desc);

// Primitives by the key of their arguments. Null results are cached too.
class Cache {
 public:
  template <typename Make>
  OnednnPrimitivePtr find_or_make(const std::string& key, const Make& make) {
    {
      std::lock_guard lock(mutex_);
      auto it = made_.find(key);
      if (it != made_.end()) return it->second;
    }
    OnednnPrimitivePtr primitive = make();
    std::lock_guard lock(mutex_);
    // Users own what they use.
    if (made_.size() >= kLimit) made_.clear();
    return made_.try_emplace(key, std::move(primitive)).first->second;
  }

 private:
  static constexpr size_t kLimit = 4096;
  std::mutex mutex_;
  std::unordered_map<std::string, OnednnPrimitivePtr> made_;
};

Cache& cache();

// The bytes of the arguments of a primitive.
class Key {
 public:
  template <typename T>
  Key& add(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Key& add(std::span<const int64_t> values) {
    add(values.size());
    for (int64_t value : values) add(value);
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

inline constexpr char kWidened = 'w';  // in keys of primitives from widened_primitive.h

// Calls `make`, which returns null or throws dnnl::error if oneDNN has no implementation; single-threaded.
template <typename Make>
OnednnPackingPtr make_cached(const Key& key, const Make& make) {
  return std::static_pointer_cast<const OnednnPacking>(cache().find_or_make(key.text(), [&]() -> OnednnPrimitivePtr {
    ThreadCountScope scope(1);
    try {
      return make();
    } catch (const dnnl::error& error) {
      if (error.status == dnnl_unimplemented || error.status == dnnl_invalid_arguments) return nullptr;
      check(error.status, error.what());
      return nullptr;
    }
  }));
}

}  // namespace md::onednn
