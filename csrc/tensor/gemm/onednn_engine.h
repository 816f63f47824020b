// Shared by the files that call oneDNN: the engine, dtypes, errors, the cache of primitives.
#pragma once
#include <list>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <string_view>
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

// Primitives by the key of their arguments; null results too. Together within half of config.sized_plans_nbytes, the
// least recently used is dropped first; users own what they use.
class Cache {
 public:
  template <typename Make>
  OnednnPrimitivePtr find_or_make(const std::string& key, const Make& make) {
    if (std::optional<OnednnPrimitivePtr> known = find(key)) return *known;
    return keep(key, make());
  }
  void clear();
  size_t nbytes() const;

 private:
  struct Made {
    std::string key;
    OnednnPrimitivePtr primitive;
  };
  static size_t nbytes_of(const Made& made);
  std::optional<OnednnPrimitivePtr> find(const std::string& key);
  // The one that is in the cache afterwards: another thread may have made it first.
  OnednnPrimitivePtr keep(const std::string& key, OnednnPrimitivePtr primitive);

  mutable std::mutex mutex_;
  std::list<Made> made_;  // the most recently used first
  std::unordered_map<std::string_view, std::list<Made>::iterator> by_key_;
  size_t nbytes_ = 0;
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
OnednnPrimitivePtr make_cached_primitive(const Key& key, const Make& make) {
  return cache().find_or_make(key.text(), [&]() -> OnednnPrimitivePtr {
    ThreadCountScope scope(1);
    try {
      return make();
    } catch (const dnnl::error& error) {
      if (error.status == dnnl_unimplemented || error.status == dnnl_invalid_arguments) return nullptr;
      check(error.status, error.what());
      return nullptr;
    }
  });
}
template <typename Make>
OnednnPackingPtr make_cached(const Key& key, const Make& make) {
  return std::static_pointer_cast<const OnednnPacking>(make_cached_primitive(key, make));
}

}  // namespace md::onednn
