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

// As c10::DeviceType numbers them.
constexpr int8_t kCpu = 0, kCuda = 1;

int autocast_blocks() {
  const Functions& torch = library().functions;
  torch.enter_autocast_block();
  return torch.leave_autocast_block();
}

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

// Word 3: the default dtype, those of autocast, whether that keeps casts, and how many of its blocks the thread is in.
uint64_t dtypes_now() {
  const Functions& torch = library().functions;
  auto byte = [](int8_t number) { return static_cast<uint64_t>(static_cast<uint8_t>(number)); };
  uint64_t blocks = static_cast<uint32_t>(autocast_blocks());
  return byte(torch.default_dtype()) | byte(torch.autocast_dtype(kCpu)) << 8 | byte(torch.autocast_dtype(kCuda)) << 16 |
         uint64_t{torch.keeps_casts()} << 24 | blocks << 32;
}

int32_t default_dtype_in(const StateWords& words) { return static_cast<int8_t>(words[3] & 0xff); }

}  // namespace

StateWords state() {
  LocalKeys keys = local_keys();
  return {keys.included, keys.excluded, flags_now(), dtypes_now()};
}

std::string state_text(const StateWords& words) {
  std::string text;
  for (const auto& [flag, name] : kFlags)
    if (flag <= kInference || (words[2] & flag) != 0)
      text += str_cat("torch_", name, "=", (words[2] & flag) != 0 ? "True " : "False ");
  DType dtype = DType::float32;
  dtype_of_scalar_type(default_dtype_in(words), dtype);
  return str_cat(text, "torch_default_dtype=", row(dtype).name);
}

std::string state_difference(const StateWords& expected, const StateWords& now) {
  std::string text;
  for (const auto& [flag, name] : kFlags)
    if ((expected[2] & flag) != (now[2] & flag)) text += str_cat(" torch_", name);
  if (text.empty() && (expected[0] != now[0] || expected[1] != now[1])) text += " torch_dispatch_keys";
  if (default_dtype_in(expected) != default_dtype_in(now)) text += " torch_default_dtype";
  if (expected[3] >> 8 != now[3] >> 8) text += " torch_autocast";
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

GradModes modes() {
  GradModes modes{library().shim.grad_mode(), library().functions.inference_mode()};
  modes.autocast_blocks = autocast_blocks();
  return modes;
}

void set_modes(const GradModes& modes) {
  library().shim.set_grad_mode(modes.grad);
  const Functions& torch = library().functions;
  for (int blocks = autocast_blocks(); blocks < modes.autocast_blocks; ++blocks) torch.enter_autocast_block();
  for (int blocks = autocast_blocks(); blocks > modes.autocast_blocks; --blocks) torch.leave_autocast_block();
}

}  // namespace md::torch
