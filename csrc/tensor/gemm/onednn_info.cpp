#include "tensor/gemm/onednn_info.h"

#include <oneapi/dnnl/dnnl.h>

#include <utility>

#include "base/error.h"

namespace md {
namespace {

constexpr std::pair<unsigned, const char*> kRuntimes[] = {
    {DNNL_RUNTIME_SEQ, "sequential"},
    {DNNL_RUNTIME_OMP, "OpenMP"},
    {DNNL_RUNTIME_TBB, "TBB"},
    {DNNL_RUNTIME_THREADPOOL, "thread pool"},
};

constexpr std::pair<dnnl_cpu_isa_t, const char*> kInstructions[] = {
    {dnnl_cpu_isa_sse41, "sse41"},
    {dnnl_cpu_isa_avx, "avx"},
    {dnnl_cpu_isa_avx2, "avx2"},
    {dnnl_cpu_isa_avx2_vnni, "avx2_vnni"},
    {dnnl_cpu_isa_avx2_vnni_2, "avx2_vnni_2"},
    {dnnl_cpu_isa_avx512_core, "avx512_core"},
    {dnnl_cpu_isa_avx512_core_vnni, "avx512_core_vnni"},
    {dnnl_cpu_isa_avx512_core_bf16, "avx512_core_bf16"},
    {dnnl_cpu_isa_avx512_core_fp16, "avx512_core_fp16"},
    {dnnl_cpu_isa_avx512_core_amx, "avx512_core_amx"},
    {dnnl_cpu_isa_avx512_core_amx_fp16, "avx512_core_amx_fp16"},
};

// A newer library may return a value unknown to these headers.
template <typename Table, typename Key>
std::string name_of(const Table& table, Key key) {
  for (const auto& [value, name] : table) {
    if (value == key) return name;
  }
  return str_cat("unknown (", static_cast<unsigned>(key), ")");
}

// Instruction sets are sets of bits.
bool includes(dnnl_cpu_isa_t instructions) {
  auto all = static_cast<unsigned>(dnnl_get_effective_cpu_isa()), wanted = static_cast<unsigned>(instructions);
  return (all & wanted) == wanted;
}

}  // namespace

std::string onednn_version() {
  const dnnl_version_t* version = dnnl_version();
  return str_cat(version->major, ".", version->minor, ".", version->patch);
}

std::string onednn_threading() { return name_of(kRuntimes, dnnl_version()->cpu_runtime); }

std::string onednn_instructions() { return name_of(kInstructions, dnnl_get_effective_cpu_isa()); }

bool onednn_multiplies_bfloat16() { return includes(dnnl_cpu_isa_avx512_core_bf16); }
bool onednn_multiplies_bytes() { return includes(dnnl_cpu_isa_avx512_core_vnni); }

}  // namespace md
