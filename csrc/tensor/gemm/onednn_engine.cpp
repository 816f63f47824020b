#include "tensor/gemm/onednn_engine.h"

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
      break;
  }
  return std::nullopt;
}

const dnnl::engine& engine() {
  static const dnnl::engine* instance = new dnnl::engine(dnnl::engine::kind::cpu, 0);
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

void execute(const OnednnPrimitive& primitive, std::span<const void* const> inputs, void* dst) {
  size_t bytes = primitive.scratchpad_bytes();
  StoragePtr scratchpad = bytes > 0 ? Storage::allocate(bytes) : StoragePtr();
  primitive.execute(inputs, dst, scratchpad ? scratchpad->data() : nullptr);
}

}  // namespace md
