// Streams of module io that write without running Python code.
#pragma once
#include "cpython/ref.h"

namespace md {

// A StringIO, or a TextIOWrapper with a C codec over BufferedWriter, BufferedRandom or BytesIO, the buffered ones over
// FileIO; also subclasses that do not override writing. Reads objects in place: runs and allocates nothing.
bool is_plain_text_stream(PyObject* object);

}  // namespace md
