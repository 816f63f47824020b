// C++ functions over tensors, for minidynamo.utils.cpp_extension.load_inline. Header only, C++17, needs the GIL throughout.
//   torch::Tensor           a tensor view: sizes, strides, dtype, data_ptr(); it keeps the Python tensor alive
//   TORCH_CHECK(cond, ...)  throws torch::Error, a RuntimeError in Python
//   MINIDYNAMO_MODULE       makes a Python module of functions; load_inline writes it
// Parameters and results are Tensor, bool, integers, floating-point numbers, std::string, std::vector, std::optional,
// std::tuple and std::pair of them. Other C++ exceptions become the Python exceptions of their kind.
#pragma once
#include <minidynamo/extension_api.h>

#include <cstddef>
#include <initializer_list>
#include <limits>
#include <new>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace torch {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Thrown when a Python exception is set.
class PythonError : public std::exception {
 public:
  const char* what() const noexcept override { return "a Python exception"; }
};

namespace detail {

template <typename... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return stream.str();
}

// Owns one reference.
class Object {
 public:
  Object() = default;
  static Object steal(PyObject* object) {
    if (object == nullptr) throw PythonError();
    Object result;
    result.object_ = object;
    return result;
  }
  static Object share(PyObject* object) {
    Py_XINCREF(object);
    Object result;
    result.object_ = object;
    return result;
  }
  Object(const Object& other) : object_(other.object_) { Py_XINCREF(object_); }
  Object(Object&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Object& operator=(Object other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Object() { Py_XDECREF(object_); }
  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }

 private:
  PyObject* object_ = nullptr;
};

inline const MinidynamoExtensionApi& api() {
  static const MinidynamoExtensionApi* const table = [] {
    Object core = Object::steal(PyImport_ImportModule("minidynamo._C"));
    Object capsule = Object::steal(PyObject_GetAttrString(core.get(), "_extension_api"));
    auto* found =
        static_cast<const MinidynamoExtensionApi*>(PyCapsule_GetPointer(capsule.get(), MINIDYNAMO_EXTENSION_API_NAME));
    if (found == nullptr) throw PythonError();
    if (found->version != MINIDYNAMO_EXTENSION_API_VERSION)
      throw Error("the extension was built for another version of minidynamo");
    return found;
  }();
  return *table;
}

// Calls minidynamo.NAME(args...) or, with a tensor, tensor.NAME(args...). Each argument is a new reference.
template <typename... Args>
Object call(PyObject* tensor, const char* name, Args&&... args) {
  Object owner = tensor != nullptr ? Object::share(tensor) : Object::steal(PyImport_ImportModule("minidynamo"));
  Object function = Object::steal(PyObject_GetAttrString(owner.get(), name));
  Object arguments = Object::steal(PyTuple_New(sizeof...(Args)));
  [[maybe_unused]] Py_ssize_t i = 0;
  (PyTuple_SET_ITEM(arguments.get(), i++, args.release()), ...);
  return Object::steal(PyObject_CallObject(function.get(), arguments.get()));
}

}  // namespace detail

// Without further arguments, the condition itself is the message.
#define TORCH_CHECK(...) MINIDYNAMO_CHECK(__VA_ARGS__, nullptr)
#define MINIDYNAMO_CHECK(condition, ...)                                                          \
  do {                                                                                            \
    if (!(condition)) throw ::torch::Error(::torch::detail::check_text(#condition, __VA_ARGS__)); \
  } while (false)

namespace detail {
// The last part is the nullptr that ends every list.
template <typename... Parts>
std::string check_text(const char* condition, const Parts&... parts) {
  if constexpr (sizeof...(Parts) == 1) {
    return text("Expected ", condition, " to be true, but got false.");
  } else {
    std::ostringstream stream;
    (
        [&](const auto& part) {
          if constexpr (!std::is_null_pointer_v<std::decay_t<decltype(part)>>) stream << part;
        }(parts),
        ...);
    return stream.str();
  }
}
}  // namespace detail

enum class ScalarType : int8_t {
  Bool,
  Byte,
  Char,
  Short,
  Int,
  Long,
  Half,
  BFloat16,
  Float,
  Double,
  UInt16,
  UInt32,
  UInt64
};
constexpr ScalarType kBool = ScalarType::Bool, kByte = ScalarType::Byte, kUInt8 = ScalarType::Byte,
                     kChar = ScalarType::Char, kInt8 = ScalarType::Char, kShort = ScalarType::Short,
                     kInt16 = ScalarType::Short, kInt = ScalarType::Int, kInt32 = ScalarType::Int,
                     kLong = ScalarType::Long, kInt64 = ScalarType::Long, kHalf = ScalarType::Half,
                     kFloat16 = ScalarType::Half, kBFloat16 = ScalarType::BFloat16, kFloat = ScalarType::Float,
                     kFloat32 = ScalarType::Float, kDouble = ScalarType::Double, kFloat64 = ScalarType::Double,
                     kUInt16 = ScalarType::UInt16, kUInt32 = ScalarType::UInt32, kUInt64 = ScalarType::UInt64;

// The 16-bit floats, as bits.
struct Half {
  uint16_t bits;
};
struct BFloat16 {
  uint16_t bits;
};

namespace detail {

// In the order of MinidynamoDType and of ScalarType: names here and in Python, bytes.
struct DTypeRow {
  const char* name;
  const char* python_name;
  int64_t size;
};
inline constexpr DTypeRow dtype_rows[] = {
    {"Bool", "bool", 1},     {"Byte", "uint8", 1},     {"Char", "int8", 1},     {"Short", "int16", 2},
    {"Int", "int32", 4},     {"Long", "int64", 8},     {"Half", "float16", 2},  {"BFloat16", "bfloat16", 2},
    {"Float", "float32", 4}, {"Double", "float64", 8}, {"UInt16", "uint16", 2}, {"UInt32", "uint32", 4},
    {"UInt64", "uint64", 8}};

template <typename T>
struct DTypeOf;
#define MINIDYNAMO_ELEMENT(type, name)                    \
  template <>                                             \
  struct DTypeOf<type> {                                  \
    static constexpr ScalarType value = ScalarType::name; \
  };
MINIDYNAMO_ELEMENT(bool, Bool)
MINIDYNAMO_ELEMENT(uint8_t, Byte)
MINIDYNAMO_ELEMENT(int8_t, Char)
MINIDYNAMO_ELEMENT(int16_t, Short)
MINIDYNAMO_ELEMENT(int32_t, Int)
MINIDYNAMO_ELEMENT(int64_t, Long)
MINIDYNAMO_ELEMENT(Half, Half)
MINIDYNAMO_ELEMENT(BFloat16, BFloat16)
MINIDYNAMO_ELEMENT(float, Float)
MINIDYNAMO_ELEMENT(double, Double)
MINIDYNAMO_ELEMENT(uint16_t, UInt16)
MINIDYNAMO_ELEMENT(uint32_t, UInt32)
MINIDYNAMO_ELEMENT(uint64_t, UInt64)
#undef MINIDYNAMO_ELEMENT

}  // namespace detail

inline std::ostream& operator<<(std::ostream& stream, ScalarType type) {
  return stream << detail::dtype_rows[static_cast<int>(type)].name;
}

class IntArrayRef {
 public:
  IntArrayRef(const int64_t* data, size_t size) : data_(data), size_(size) {}
  IntArrayRef(const std::vector<int64_t>& values) : IntArrayRef(values.data(), values.size()) {}
  IntArrayRef(const std::initializer_list<int64_t>& values) : IntArrayRef(values.begin(), values.size()) {}
  const int64_t* begin() const { return data_; }
  const int64_t* end() const { return data_ + size_; }
  const int64_t* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t operator[](size_t i) const { return data_[i]; }
  std::vector<int64_t> vec() const { return {begin(), end()}; }
  bool equals(IntArrayRef other) const { return vec() == other.vec(); }
  friend bool operator==(IntArrayRef a, IntArrayRef b) { return a.equals(b); }
  friend bool operator!=(IntArrayRef a, IntArrayRef b) { return !a.equals(b); }
  friend std::ostream& operator<<(std::ostream& stream, IntArrayRef values) {
    stream << "[";
    for (size_t i = 0; i < values.size(); ++i) stream << (i == 0 ? "" : ", ") << values[i];
    return stream << "]";
  }

 private:
  const int64_t* data_;
  size_t size_;
};

enum class DeviceType : int8_t { CPU, CUDA };
constexpr DeviceType kCPU = DeviceType::CPU, kCUDA = DeviceType::CUDA;

struct Device {
  DeviceType device_type = kCPU;
  DeviceType type() const { return device_type; }
  bool is_cpu() const { return device_type == kCPU; }
  bool is_cuda() const { return device_type == kCUDA; }
  friend bool operator==(Device a, Device b) { return a.device_type == b.device_type; }
  friend bool operator!=(Device a, Device b) { return !(a == b); }
  friend std::ostream& operator<<(std::ostream& stream, Device device) {
    return stream << (device.is_cpu() ? "cpu" : "cuda");
  }
};

// dtype of a new tensor; without one, the default dtype.
class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(ScalarType type) : dtype_(type) {}
  TensorOptions dtype(ScalarType type) const { return TensorOptions(type); }
  TensorOptions device(Device device) const {
    TORCH_CHECK(device.is_cpu(), "minidynamo has tensors on the CPU only");
    return *this;
  }
  TensorOptions device(DeviceType type) const { return device(Device{type}); }
  const std::optional<ScalarType>& dtype_opt() const { return dtype_; }

 private:
  std::optional<ScalarType> dtype_;
};

// Returned by data_ptr(): a pointer to the elements, convertible to the tensor's element type.
class ElementPointer;

template <typename T, size_t N>
class TensorAccessor {
 public:
  TensorAccessor(T* data, const int64_t* sizes, const int64_t* strides)
      : data_(data), sizes_(sizes), strides_(strides) {}
  decltype(auto) operator[](int64_t i) const {
    if constexpr (N == 1) {
      return static_cast<T&>(data_[i * strides_[0]]);
    } else {
      return TensorAccessor<T, N - 1>(data_ + i * strides_[0], sizes_ + 1, strides_ + 1);
    }
  }
  int64_t size(int64_t dim) const { return sizes_[dim]; }
  int64_t stride(int64_t dim) const { return strides_[dim]; }

 private:
  T* data_;
  const int64_t* sizes_;
  const int64_t* strides_;
};

// A copy refers to the same tensor.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(detail::Object object) : object_(std::move(object)) { view(); }

  bool defined() const { return object_.get() != nullptr; }
  PyObject* object() const { return object_.get(); }
  bool is_same(const Tensor& other) const { return object() == other.object(); }

  int64_t dim() const { return view().rank; }
  int64_t ndimension() const { return dim(); }
  int64_t numel() const { return view().numel; }
  IntArrayRef sizes() const {
    MinidynamoTensorView now = view();
    return {now.sizes, static_cast<size_t>(now.rank)};
  }
  IntArrayRef strides() const {
    MinidynamoTensorView now = view();
    return {now.strides, static_cast<size_t>(now.rank)};
  }
  int64_t size(int64_t dim) const { return sizes()[position(dim)]; }
  int64_t stride(int64_t dim) const { return strides()[position(dim)]; }
  ScalarType scalar_type() const { return static_cast<ScalarType>(view().dtype); }
  ScalarType dtype() const { return scalar_type(); }
  int64_t element_size() const { return detail::dtype_rows[static_cast<int>(scalar_type())].size; }
  int64_t itemsize() const { return element_size(); }
  int64_t nbytes() const { return numel() * element_size(); }
  TensorOptions options() const { return scalar_type(); }
  Device device() const { return {}; }
  bool is_cpu() const { return true; }
  bool is_cuda() const { return false; }
  bool is_floating_point() const { return scalar_type() >= ScalarType::Half && scalar_type() <= ScalarType::Double; }
  bool is_contiguous() const {
    MinidynamoTensorView now = view();
    int64_t expected = 1;
    for (int32_t d = now.rank; d-- > 0;) {
      if (now.sizes[d] != 1 && now.strides[d] != expected) return now.numel == 0;
      expected *= now.sizes[d];
    }
    return true;
  }

  // The first element. The type must be the tensor's; the others follow by strides, or contiguously if is_contiguous().
  ElementPointer data_ptr() const;
  template <typename T>
  T* data_ptr() const {
    if constexpr (std::is_const_v<T>) {
      return const_data_ptr<std::remove_const_t<T>>();
    } else {
      require<T>();
      void* data = detail::api().mutable_data(object());
      if (data == nullptr && PyErr_Occurred() != nullptr) throw PythonError();
      return static_cast<T*>(data);
    }
  }
  template <typename T>
  T* mutable_data_ptr() const {
    return data_ptr<T>();
  }
  template <typename T>
  const T* const_data_ptr() const {
    require<T>();
    return static_cast<const T*>(view().data);
  }
  template <typename T, size_t N>
  TensorAccessor<T, N> accessor() const {
    TORCH_CHECK(dim() == static_cast<int64_t>(N), "TensorAccessor expected ", N, " dims but tensor has ", dim());
    T* data = data_ptr<T>();
    MinidynamoTensorView now = view();
    return {data, now.sizes, now.strides};
  }
  template <typename T>
  T item() const {
    TORCH_CHECK(numel() == 1, "item() of a tensor of ", numel(), " elements");
    return *const_data_ptr<T>();
  }

  Tensor contiguous() const { return Tensor(detail::call(object(), "contiguous")); }
  Tensor clone() const { return Tensor(detail::call(object(), "clone")); }
  Tensor to(ScalarType type) const;
  Tensor reshape(IntArrayRef sizes) const;
  Tensor view(IntArrayRef sizes) const;

 private:
  MinidynamoTensorView view() const {
    TORCH_CHECK(defined(), "an undefined tensor was used");
    MinidynamoTensorView now;
    if (detail::api().view(object(), &now) != 0) throw PythonError();
    return now;
  }
  size_t position(int64_t dim) const {
    int64_t rank = this->dim(), at = dim < 0 ? dim + rank : dim;
    if (at < 0 || at >= rank)
      throw std::out_of_range(detail::text("Dimension out of range (expected to be in range of [", -rank, ", ",
                                           rank - 1, "], but got ", dim, ")"));
    return static_cast<size_t>(at);
  }
  template <typename T>
  void require() const {
    TORCH_CHECK(scalar_type() == detail::DTypeOf<T>::value, "expected scalar type ", detail::DTypeOf<T>::value,
                " but found ", scalar_type());
  }

  detail::Object object_;
};

class ElementPointer {
 public:
  explicit ElementPointer(const Tensor& tensor) : tensor_(tensor) {}
  template <typename T, typename = std::enable_if_t<!std::is_void_v<T>>>
  operator T*() const {
    return tensor_.data_ptr<T>();
  }
  operator void*() const {
    void* data = detail::api().mutable_data(tensor_.object());
    if (data == nullptr && PyErr_Occurred() != nullptr) throw PythonError();
    return data;
  }

 private:
  Tensor tensor_;
};

inline ElementPointer Tensor::data_ptr() const { return ElementPointer(*this); }

// ---- between C++ and Python

namespace detail {

template <typename T>
struct Convert;  // parameters and results of bound functions must have a specialisation

[[noreturn]] inline void refuse(const char* expected, PyObject* object) {
  PyErr_Format(PyExc_TypeError, "expected %s, got %s", expected, Py_TYPE(object)->tp_name);
  throw PythonError();
}

template <>
struct Convert<Tensor> {
  static Tensor from(PyObject* object) { return Tensor(Object::share(object)); }
  static Object to(const Tensor& tensor) { return Object::share(tensor.defined() ? tensor.object() : Py_None); }
};

template <>
struct Convert<bool> {
  static bool from(PyObject* object) {
    if (!PyBool_Check(object)) refuse("bool", object);
    return object == Py_True;
  }
  static Object to(bool value) { return Object::share(value ? Py_True : Py_False); }
};

template <typename T>
struct ConvertInt {
  static T from(PyObject* object) {
    if (!PyIndex_Check(object) || PyBool_Check(object)) refuse("int", object);
    Object number = Object::steal(PyNumber_Index(object));
    int overflow = 0;
    long long value = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
    bool fits = overflow == 0 && (std::is_signed_v<T> || value >= 0);
    if constexpr (sizeof(T) < sizeof(value))
      fits = fits && value >= static_cast<long long>(std::numeric_limits<T>::min()) &&
             value <= static_cast<long long>(std::numeric_limits<T>::max());
    if (!fits) {
      PyErr_Format(PyExc_OverflowError, "%R does not fit into %d bits", number.get(), static_cast<int>(8 * sizeof(T)));
      throw PythonError();
    }
    return static_cast<T>(value);
  }
  static Object to(T value) { return Object::steal(PyLong_FromLongLong(static_cast<long long>(value))); }
};

template <typename T>
struct ConvertFloat {
  static T from(PyObject* object) {
    if (!PyFloat_Check(object) && !PyIndex_Check(object)) refuse("float", object);
    double value = PyFloat_AsDouble(object);
    if (value == -1.0 && PyErr_Occurred() != nullptr) throw PythonError();
    return static_cast<T>(value);
  }
  static Object to(T value) { return Object::steal(PyFloat_FromDouble(static_cast<double>(value))); }
};

template <typename T>
struct Convert : std::conditional_t<std::is_floating_point_v<T>, ConvertFloat<T>, ConvertInt<T>> {
  static_assert(std::is_arithmetic_v<T>,
                "parameters and results are tensors, numbers, bools, strings, or vectors, "
                "optionals and tuples of them");
};

template <>
struct Convert<std::string> {
  static std::string from(PyObject* object) {
    if (!PyUnicode_Check(object)) refuse("str", object);
    Py_ssize_t size = 0;
    const char* chars = PyUnicode_AsUTF8AndSize(object, &size);
    if (chars == nullptr) throw PythonError();
    return {chars, static_cast<size_t>(size)};
  }
  static Object to(const std::string& value) {
    return Object::steal(PyUnicode_FromStringAndSize(value.data(), static_cast<Py_ssize_t>(value.size())));
  }
};

template <typename T>
struct Convert<std::vector<T>> {
  static std::vector<T> from(PyObject* object) {
    if (!PyList_Check(object) && !PyTuple_Check(object)) refuse("a list or tuple", object);
    // A tuple copy: converting an element may run code that changes the list.
    Object items = Object::steal(PySequence_Tuple(object));
    std::vector<T> values;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
      values.push_back(Convert<T>::from(PyTuple_GET_ITEM(items.get(), i)));
    return values;
  }
  static Object to(const std::vector<T>& values) {
    Object list = Object::steal(PyList_New(static_cast<Py_ssize_t>(values.size())));
    for (size_t i = 0; i < values.size(); ++i)
      PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), Convert<T>::to(values[i]).release());
    return list;
  }
};

template <typename T>
struct Convert<std::optional<T>> {
  static std::optional<T> from(PyObject* object) {
    if (object == Py_None) return std::nullopt;
    return Convert<T>::from(object);
  }
  static Object to(const std::optional<T>& value) { return value ? Convert<T>::to(*value) : Object::share(Py_None); }
};

template <typename Tuple>
struct ConvertTuple {
  static Object to(const Tuple& values) {
    Object tuple = Object::steal(PyTuple_New(std::tuple_size_v<Tuple>));
    fill(tuple.get(), values, std::make_index_sequence<std::tuple_size_v<Tuple>>());
    return tuple;
  }

 private:
  template <size_t... I>
  static void fill(PyObject* tuple, const Tuple& values, std::index_sequence<I...>) {
    (set<I>(tuple, Convert<std::decay_t<std::tuple_element_t<I, Tuple>>>::to(std::get<I>(values))), ...);
  }
  template <size_t i>
  static void set(PyObject* tuple, Object item) {
    PyTuple_SET_ITEM(tuple, i, item.release());
  }
};
template <typename... T>
struct Convert<std::tuple<T...>> : ConvertTuple<std::tuple<T...>> {};
template <typename A, typename B>
struct Convert<std::pair<A, B>> : ConvertTuple<std::pair<A, B>> {};

inline void set_python_error() {
  try {
    throw;
  } catch (const PythonError&) {
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::out_of_range& error) {
    PyErr_SetString(PyExc_IndexError, error.what());
  } catch (const std::invalid_argument& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "a C++ exception of an unknown type");
  }
}

template <auto function, typename Signature = decltype(function)>
struct Bound;

template <auto function, typename Result, typename... Params>
struct Bound<function, Result (*)(Params...)> {
  static PyObject* call(PyObject*, PyObject* const* args, Py_ssize_t count) {
    if (count != static_cast<Py_ssize_t>(sizeof...(Params))) {
      PyErr_Format(PyExc_TypeError, "%zd positional arguments are expected, %zd were given",
                   static_cast<Py_ssize_t>(sizeof...(Params)), count);
      return nullptr;
    }
    try {
      return apply(args, std::index_sequence_for<Params...>());
    } catch (...) {
      set_python_error();
      return nullptr;
    }
  }

 private:
  template <size_t... I>
  static PyObject* apply([[maybe_unused]] PyObject* const* args, std::index_sequence<I...>) {
    // Braces: arguments are converted from left to right.
    std::tuple<std::decay_t<Params>...> values{Convert<std::decay_t<Params>>::from(args[I])...};
    if constexpr (std::is_void_v<Result>) {
      function(std::get<I>(values)...);
      return Py_NewRef(Py_None);
    } else {
      return Convert<std::decay_t<Result>>::to(function(std::get<I>(values)...)).release();
    }
  }
};
template <auto function, typename Result, typename... Params>
struct Bound<function, Result (*)(Params...) noexcept> : Bound<static_cast<Result (*)(Params...)>(function)> {};

inline Object dtype_object(ScalarType type) {
  Object module = Object::steal(PyImport_ImportModule("minidynamo"));
  return Object::steal(PyObject_GetAttrString(module.get(), dtype_rows[static_cast<int>(type)].python_name));
}

inline Object sizes_object(IntArrayRef sizes) { return Convert<std::vector<int64_t>>::to(sizes.vec()); }

// minidynamo.NAME(args..., dtype=...)
template <typename... Args>
Tensor create(const char* name, const TensorOptions& options, Args... args) {
  Object module = Object::steal(PyImport_ImportModule("minidynamo"));
  Object function = Object::steal(PyObject_GetAttrString(module.get(), name));
  Object arguments = Object::steal(PyTuple_New(sizeof...(Args)));
  [[maybe_unused]] Py_ssize_t i = 0;
  (PyTuple_SET_ITEM(arguments.get(), i++, args.release()), ...);
  Object keywords = Object::steal(PyDict_New());
  if (options.dtype_opt()) {
    Object dtype = dtype_object(*options.dtype_opt());
    if (PyDict_SetItemString(keywords.get(), "dtype", dtype.get()) != 0) throw PythonError();
  }
  return Tensor(Object::steal(PyObject_Call(function.get(), arguments.get(), keywords.get())));
}

}  // namespace detail

inline Tensor Tensor::to(ScalarType type) const {
  return Tensor(detail::call(object(), "to", detail::dtype_object(type)));
}
inline Tensor Tensor::reshape(IntArrayRef sizes) const {
  return Tensor(detail::call(object(), "reshape", detail::sizes_object(sizes)));
}
inline Tensor Tensor::view(IntArrayRef sizes) const {
  return Tensor(detail::call(object(), "view", detail::sizes_object(sizes)));
}

inline Tensor empty(IntArrayRef sizes, const TensorOptions& options = {}) {
  return detail::create("empty", options, detail::sizes_object(sizes));
}
inline Tensor zeros(IntArrayRef sizes, const TensorOptions& options = {}) {
  return detail::create("zeros", options, detail::sizes_object(sizes));
}
inline Tensor ones(IntArrayRef sizes, const TensorOptions& options = {}) {
  return detail::create("ones", options, detail::sizes_object(sizes));
}
inline Tensor full(IntArrayRef sizes, double value, const TensorOptions& options = {}) {
  return detail::create("full", options, detail::sizes_object(sizes), detail::Convert<double>::to(value));
}
inline Tensor empty_like(const Tensor& input, const TensorOptions& options = {}) {
  return detail::create("empty_like", options, detail::Convert<Tensor>::to(input));
}
inline Tensor zeros_like(const Tensor& input, const TensorOptions& options = {}) {
  return detail::create("zeros_like", options, detail::Convert<Tensor>::to(input));
}
inline Tensor ones_like(const Tensor& input, const TensorOptions& options = {}) {
  return detail::create("ones_like", options, detail::Convert<Tensor>::to(input));
}

}  // namespace torch

namespace at = torch;
namespace c10 = torch;

// One function of a module, and the module: MINIDYNAMO_MODULE(name, MINIDYNAMO_FUNCTION(f, "doc"), ...)
#define MINIDYNAMO_FUNCTION(function, doc)                                                                           \
  PyMethodDef {                                                                                                      \
    #function, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(::torch::detail::Bound<&function>::call)), \
        METH_FASTCALL, doc                                                                                           \
  }
#define MINIDYNAMO_MODULE(name, ...)                                                                                   \
  PyMODINIT_FUNC PyInit_##name() {                                                                                     \
    static PyMethodDef methods[] = {__VA_ARGS__, PyMethodDef{nullptr, nullptr, 0, nullptr}};                           \
    static PyModuleDef_Slot slots[] = {{0, nullptr}};                                                                  \
    static PyModuleDef module = {PyModuleDef_HEAD_INIT, #name, nullptr, 0, methods, slots, nullptr, nullptr, nullptr}; \
    return PyModuleDef_Init(&module);                                                                                  \
  }
