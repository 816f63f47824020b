// What a graph's outputs mean for its inputs.
#pragma once

namespace md {

// The output is what the tensor at this input holds after the run. A plan may write it there itself; it then returns
// the input's own tensor.
struct InputWrite {
  int output = -1, input = -1;  // positions
};

}  // namespace md
