// The structs of DLPack's C interface, version 1.0: https://dmlc.github.io/dlpack/latest/c_api.html
#pragma once
#include <cstdint>

namespace md::dlpack {

inline constexpr int32_t kCpu = 1;
inline constexpr uint32_t kMajor = 1, kMinor = 0;
inline constexpr uint64_t kReadOnly = 1, kIsCopied = 2;
enum TypeCode : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kOpaque = 3, kBFloat = 4, kComplex = 5, kBool = 6 };
// Codes above are types of less than 16 bits.
inline constexpr uint8_t kLastCode = 17;

struct Device {
  int32_t type;
  int32_t id;
};
struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};
struct Array {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null: row-major
  uint64_t byte_offset;
};
// Contents of a capsule named "dltensor".
struct Managed {
  Array array;
  void* context;
  void (*deleter)(Managed*);
};
struct Version {
  uint32_t major;
  uint32_t minor;
};
// Contents of a capsule named "dltensor_versioned".
struct ManagedVersioned {
  Version version;
  void* context;
  void (*deleter)(ManagedVersioned*);
  uint64_t flags;
  Array array;
};

}  // namespace md::dlpack
