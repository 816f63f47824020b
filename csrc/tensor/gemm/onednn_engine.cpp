#include "tensor/gemm/onednn_engine.h"

#include <iterator>

#include "base/config.h"
#include "tensor/storage.h"

namespace md::onednn {

std::optional<dnnl::memory::data_type> data_type(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return dnnl::memory::data_type::f32;
    case DType::bfloat16:
      return dnnl::memory::data_type::bf16;
    case DType::float16:
      return dnnl::memory::data_type::f16;
    case DType::bool_:
    case DType::uint8:
    case DType::int8:
    case DType::int16:
    case DType::int32:
    case DType::int64:
    case DType::float64:
    case DType::uint16:
    case DType::uint32:
    case DType::uint64:
    case DType::complex64:
    case DType::complex128:
      break;
  }
  return std::nullopt;
}

const dnnl::engine& engine() {
  static const dnnl::engine* instance = [] {
    // Ours is bounded in bytes; a second one in oneDNN would keep what ours drops.
    dnnl_set_primitive_cache_capacity(0);
    return new dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return *instance;
}

dnnl_stream_t stream() {
  thread_local dnnl::stream instance(engine());
  return instance.get();
}

void check(dnnl_status_t status, const char* what) {
  if (status == dnnl_out_of_memory) raise(ErrorKind::Memory, "not enough memory in oneDNN: ", what);
  MD_ASSERT(status == dnnl_success, "oneDNN ", what, " failed with status ", static_cast<int>(status));
}

bool is_reference(const dnnl::primitive_desc_base& desc) {
  std::string name = desc.impl_info_str();
  return name.starts_with("ref") || name.starts_with("simple");
}

Cache& cache() {
  static Cache* instance = new Cache;
  return *instance;
}

size_t Cache::nbytes_of(const Made& made) {
  constexpr size_t kOfEntry = 256;
  return kOfEntry + made.key.size() + (made.primitive == nullptr ? 0 : made.primitive->nbytes());
}

std::optional<OnednnPrimitivePtr> Cache::find(const std::string& key) {
  std::lock_guard lock(mutex_);
  auto known = by_key_.find(key);
  if (known == by_key_.end()) return std::nullopt;
  made_.splice(made_.begin(), made_, known->second);
  return known->second->primitive;
}

OnednnPrimitivePtr Cache::keep(const std::string& key, OnednnPrimitivePtr primitive) {
  std::list<Made> dropped;  // freed without the lock
  std::lock_guard lock(mutex_);
  if (auto known = by_key_.find(key); known != by_key_.end()) return known->second->primitive;
  made_.push_front({key, std::move(primitive)});
  by_key_[made_.front().key] = made_.begin();
  nbytes_ += nbytes_of(made_.front());
  while (nbytes_ > most_sized_bytes() && made_.size() > 1) {
    nbytes_ -= nbytes_of(made_.back());
    by_key_.erase(made_.back().key);
    dropped.splice(dropped.begin(), made_, std::prev(made_.end()));
  }
  return made_.front().primitive;
}

void Cache::clear() {
  std::list<Made> dropped;
  std::lock_guard lock(mutex_);
  by_key_.clear();
  dropped.swap(made_);
  nbytes_ = 0;
}

size_t Cache::nbytes() const {
  std::lock_guard lock(mutex_);
  return nbytes_;
}

std::string layout_text(const dnnl::memory::desc& desc) {
  std::string text = str_cat(static_cast<int>(desc.get_data_type()), "/");
  for (const dnnl::memory::dims& numbers :
       {desc.get_dims(), desc.get_padded_dims(), desc.get_strides(), desc.get_inner_blks(), desc.get_inner_idxs()}) {
    for (int64_t number : numbers) text += str_cat(number, ",");
    text += "/";
  }
  return text;
}

dnnl::primitive_attr own_scratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

}  // namespace md::onednn

namespace md {

void InPlaceWeights::pack(const void*, void*) const { MD_ASSERT(false, "weights that stay in place are not packed"); }

void drop_primitives() { onednn::cache().clear(); }
size_t cached_primitives_bytes() { return onednn::cache().nbytes(); }

void execute(const OnednnPrimitive& primitive, std::span<const void* const> inputs, void* dst) {
  size_t bytes = primitive.scratchpad_bytes();
  StoragePtr scratchpad = bytes > 0 ? Storage::allocate(bytes) : StoragePtr();
  primitive.execute(inputs, dst, scratchpad ? scratchpad->data() : nullptr);
}

}  // namespace md
