#include "eval_frame/counters.h"

namespace md {

Counters& counters() {
  static Counters counters;
  return counters;
}

}  // namespace md
