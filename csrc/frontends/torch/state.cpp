#include "frontends/torch/state.h"

#include "base/error.h"
#include "frontends/torch/gradients.h"
#include "frontends/torch/library.h"
#include "tensor/tensor_modes.h"

namespace md::torch {
namespace {

// Word 2 of the state.
enum Flag : uint64_t {
  kGrad = 1,
  kInference = 2,
  kFunctionModes = 4,
  kFunctionsDisabled = 8,
  kDeterministic = 16,
  kWatchedGradients = 32
};
constexpr std::pair<Flag, const char*> kFlags[] = {{kGrad, "grad_mode"},
                                                   {kInference, "inference_mode"},
                                                   {kFunctionModes, "function_modes"},
                                                   {kFunctionsDisabled, "functions_disabled"},
                                                   {kDeterministic, "deterministic"},
                                                   {kWatchedGradients, "watched_gradients"}};

uint64_t flags_now() {
  const Functions& torch = library().functions;
  uint64_t flags = 0;
  if (library().shim.grad_mode()) flags |= kGrad;
  if (torch.inference_mode()) flags |= kInference;
  if (torch.function_modes() > 0) flags |= kFunctionModes;
  if (torch.functions_disabled() != 0) flags |= kFunctionsDisabled;
  if (torch.deterministic(torch.context())) flags |= kDeterministic;
  if (are_gradients_watched()) flags |= kWatchedGradients;
  return flags;
}

}  // namespace

StateWords state() {
  LocalKeys keys = local_keys();
  return {keys.included, keys.excluded, flags_now(), static_cast<uint64_t>(library().functions.default_dtype())};
}

std::string state_text(const StateWords& words) {
  std::string text;
  for (const auto& [flag, name] : kFlags)
    if (flag <= kInference || (words[2] & flag) != 0)
      text += str_cat("torch_", name, "=", (words[2] & flag) != 0 ? "True " : "False ");
  DType dtype = DType::float32;
  dtype_of_scalar_type(static_cast<int32_t>(words[3]), dtype);
  return str_cat(text, "torch_default_dtype=", row(dtype).name);
}

std::string state_difference(const StateWords& expected, const StateWords& now) {
  std::string text;
  for (const auto& [flag, name] : kFlags)
    if ((expected[2] & flag) != (now[2] & flag)) text += str_cat(" torch_", name);
  if (text.empty() && (expected[0] != now[0] || expected[1] != now[1])) text += " torch_dispatch_keys";
  if (expected[3] != now[3]) text += " torch_default_dtype";
  return text;
}

const char* unusual_state() {
  uint64_t flags = flags_now();
  if ((flags & (kFunctionModes | kFunctionsDisabled)) != 0)
    return "a torch function mode is active (`with torch.device(...)`, set_default_device ...)";
  if ((flags & kDeterministic) != 0) return "torch.use_deterministic_algorithms() is on";
  if (local_keys() != ((flags & kInference) != 0 ? library().inference_local : LocalKeys()))
    return "autocast, a dispatch mode or a transform of torch is active";
  DType dtype = DType::float32;
  bool is_known = dtype_of_scalar_type(library().functions.default_dtype(), dtype);
  return is_known ? nullptr : "torch's default dtype is not supported";
}

DType default_dtype() {
  DType dtype = DType::float32;
  dtype_of_scalar_type(library().functions.default_dtype(), dtype);
  return dtype;
}

GradModes modes() { return {library().shim.grad_mode(), library().functions.inference_mode()}; }

void set_modes(const GradModes& modes) { library().shim.set_grad_mode(modes.grad); }

}  // namespace md::torch
