// Streams of module io that write without running code in Python.
#pragma once
#include "cpython/ref.h"

namespace md {

// A StringIO, or a TextIOWrapper with a codec of C over BufferedWriter, BufferedRandom or BytesIO, the former over FileIO; also of a
// subclass that leaves writing as it is. Looks at it in place: nothing runs, nothing is allocated.
bool is_plain_text_stream(PyObject* object);

}  // namespace md
