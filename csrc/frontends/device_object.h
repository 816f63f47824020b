// minidynamo.device: tensors are on the CPU, but programs name and compare other devices.
#pragma once
#include <string>

#include "cpython/ref.h"

namespace md {

PyTypeObject* device_type();  // lives as long as the process
BorrowedRef cpu_device();     // the object returned by x.device
bool is_cpu_device(BorrowedRef object);
// Returns "cpu" for a device, "cpu", "cpu:0" or None. Throws Error(Runtime) naming any other device, Error(Type) for
// other objects; `what` begins the message ("zeros(): argument 'device'").
std::string device_from_python(BorrowedRef object, const std::string& what);

}  // namespace md
