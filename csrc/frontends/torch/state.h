// What decides the meaning of torch's operations in this thread, and when none can be captured.
#pragma once
#include <string>

#include "guards/tensor_family.h"

namespace md::torch {

// Included and excluded dispatch keys (inference, autocast, fake, functorch, function and dispatch modes show there);
// flags; the default dtype.
StateWords state();
std::string state_text(const StateWords& words);
std::string state_difference(const StateWords& expected, const StateWords& now);
// Why no operation can be captured in this state; null if it can.
const char* unusual_state();

DType default_dtype();
GradModes modes();
// Sets grad mode. Inference mode stays.
void set_modes(const GradModes& modes);

}  // namespace md::torch
