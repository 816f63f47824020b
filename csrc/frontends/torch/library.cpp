#include "frontends/torch/library.h"

#include <dlfcn.h>

#include <array>
#include <charconv>
#include <optional>
#include <string>

#include "base/error.h"
#include "cpython/text.h"

namespace md::torch {
namespace {

Library loaded;

void* handle_of(const char* name) { return dlopen(name, RTLD_LAZY | RTLD_NOLOAD); }

// The symbols of one library; remembers the first that is missing.
class Symbols {
 public:
  explicit Symbols(const char* name) : handle_(handle_of(name)) {
    if (handle_ == nullptr) missing_ = name;
  }
  template <typename Function>
  void find(Function& function, const char* name) {
    void* symbol = handle_ != nullptr ? dlsym(handle_, name) : nullptr;
    if (symbol == nullptr && missing_.empty()) missing_ = name;
    function = reinterpret_cast<Function>(symbol);
  }
  const std::string& missing() const { return missing_; }

 private:
  void* handle_;
  std::string missing_;
};

constexpr const char kLocalKeys[] = "_ZN3c104impl26raw_local_dispatch_key_setE";

std::string find_shim(Shim& shim) {
  Symbols cpu("libtorch_cpu.so");
  cpu.find(shim.data_ptr, "aoti_torch_get_data_ptr");
  cpu.find(shim.dtype, "aoti_torch_get_dtype");
  cpu.find(shim.rank, "aoti_torch_get_dim");
  cpu.find(shim.sizes, "aoti_torch_get_sizes");
  cpu.find(shim.strides, "aoti_torch_get_strides");
  cpu.find(shim.storage_offset, "aoti_torch_get_storage_offset");
  cpu.find(shim.empty_strided, "aoti_torch_empty_strided");
  cpu.find(shim.delete_tensor, "aoti_torch_delete_tensor_object");
  cpu.find(shim.grad_mode, "aoti_torch_grad_mode_is_enabled");
  cpu.find(shim.set_grad_mode, "aoti_torch_grad_mode_set_enabled");
  return cpu.missing();
}

std::string find_functions(Functions& functions) {
  Symbols python("libtorch_python.so"), cpu("libtorch_cpu.so"), core("libc10.so");
  python.find(functions.wrap, "_Z16THPVariable_WrapRKN2at10TensorBaseE");
  core.find(functions.requires_grad, "_ZNK3c1010TensorImpl13requires_gradEv");
  core.find(functions.inference_mode, "_ZN3c1013InferenceMode10is_enabledEv");
  core.find(functions.default_dtype, "_ZN3c1031get_default_dtype_as_scalartypeEv");
  cpu.find(functions.function_modes, "_ZN2at4impl22PythonTorchFunctionTLS9stack_lenEv");
  cpu.find(functions.functions_disabled, "_ZN2at4impl22PythonTorchFunctionTLS18get_disabled_stateEv");
  cpu.find(functions.context, "_ZN2at13globalContextEv");
  cpu.find(functions.deterministic, "_ZNK2at7Context23deterministicAlgorithmsEv");
  cpu.find(functions.thread_count, "_ZN2at15get_num_threadsEv");
  cpu.find(functions.autocast_dtype, "_ZN2at8autocast18get_autocast_dtypeEN3c1010DeviceTypeE");
  cpu.find(functions.keeps_casts, "_ZN2at8autocast25is_autocast_cache_enabledEv");
  cpu.find(functions.enter_autocast_block, "_ZN2at8autocast17increment_nestingEv");
  cpu.find(functions.leave_autocast_block, "_ZN2at8autocast17decrement_nestingEv");
  const void* keys = nullptr;
  core.find(keys, kLocalKeys);
  for (const Symbols* symbols : {&python, &cpu, &core})
    if (!symbols->missing().empty()) return symbols->missing();
  return {};
}

void find_gradient_functions(GradientFunctions& gradients) {
  Symbols cpu("libtorch_cpu.so"), core("libc10.so");
  core.find(gradients.gradient, "_ZNK3c1010TensorImpl4gradEv");
  cpu.find(gradients.node, "_ZN5torch8autograd4impl14grad_fn_unsafeERKN2at6TensorE");
  cpu.find(gradients.as_view, "_ZN5torch8autograd4impl22get_view_autograd_metaERKN2at10TensorBaseE");
  cpu.find(gradients.views_base, "_ZNK2at10TensorBase7is_viewEv");
  cpu.find(gradients.base, "_ZNK2at10TensorBase5_baseEv");
  cpu.find(gradients.hooks, "_ZN5torch8autograd4impl5hooksERKN2at6TensorE");
  cpu.find(gradients.later_hooks, "_ZN5torch8autograd4impl19post_acc_grad_hooksERKN2at6TensorE");
  cpu.find(gradients.saved_tensor_hooks, "_ZN2at23SavedTensorDefaultHooks13get_tls_stateEv");
  cpu.find(gradients.anomaly_mode, "_ZN5torch8autograd11AnomalyMode8_enabledE");
  gradients.are_known = cpu.missing().empty() && core.missing().empty();
  Symbols later("libtorch_cpu.so");
  later.find(gradients.dtype, "_ZNK5torch8autograd12AutogradMeta10grad_dtypeERKN2at10TensorBaseE");
}

// (2, 13) of "2.13.0+cpu"; (0, 0) for another text.
std::pair<int, int> version_of(BorrowedRef module) {
  Ref version = check(PyObject_Str(check(PyObject_GetAttrString(module, "__version__"))));
  std::string text = text_of(version);
  const char* end = text.data() + text.size();
  int major = 0, minor = 0;
  auto [dot, error] = std::from_chars(text.data(), end, major);
  if (error != std::errc() || dot == end || *dot != '.') return {0, 0};
  if (std::from_chars(dot + 1, end, minor).ec != std::errc()) return {0, 0};
  return {major, minor};
}

constexpr std::pair<int, int> kLeast{2, 10};

constexpr std::pair<DType, int32_t> kScalarTypes[] = {
    {DType::uint8, 0},   {DType::int8, 1},    {DType::int16, 2},   {DType::int32, 3},     {DType::int64, 4},
    {DType::float16, 5}, {DType::float32, 6}, {DType::float64, 7}, {DType::bool_, 11},    {DType::bfloat16, 15},
    {DType::uint16, 27}, {DType::uint32, 28}, {DType::uint64, 29}, {DType::complex64, 9}, {DType::complex128, 10}};
static_assert(std::size(kScalarTypes) == kDTypeCount);

constexpr auto kDTypes = [] {
  std::array<std::optional<DType>, 16> by_code{};
  for (const auto& [dtype, code] : kScalarTypes)
    if (is_captured(dtype)) by_code[static_cast<size_t>(code)] = dtype;
  return by_code;
}();

}  // namespace

Library& library() { return loaded; }

LocalKeys local_keys() {
  static void* const handle = handle_of("libc10.so");
  // The address of a thread's own variable stays the same for as long as the thread lives.
  thread_local const void* const place = dlsym(handle, kLocalKeys);
  LocalKeys keys;
  std::memcpy(&keys, place, sizeof keys);
  return keys;
}

bool load(BorrowedRef module, std::string& why) {
  if (version_of(module) < kLeast) {
    why = str_cat("torch ", kLeast.first, ".", kLeast.second, " or later is needed");
    return false;
  }
  std::string missing = find_shim(loaded.shim);
  if (missing.empty()) missing = find_functions(loaded.functions);
  if (!missing.empty()) {
    why = str_cat("this torch has no ", missing);
    return false;
  }
  find_gradient_functions(loaded.gradients);
  loaded.tensor = reinterpret_cast<PyTypeObject*>(check(PyObject_GetAttrString(module, "Tensor")).release());
  Ref nn = check(PyObject_GetAttrString(module, "nn"));
  loaded.parameter = reinterpret_cast<PyTypeObject*>(check(PyObject_GetAttrString(nn, "Parameter")).release());
  return true;
}

int32_t scalar_type(DType dtype) {
  for (const auto& [known, code] : kScalarTypes)
    if (known == dtype) return code;
  return -1;
}

bool dtype_of_scalar_type(int32_t code, DType& dtype) {
  auto at = static_cast<uint32_t>(code);
  if (at >= kDTypes.size() || !kDTypes[at]) return false;
  dtype = *kDTypes[at];
  return true;
}

}  // namespace md::torch
