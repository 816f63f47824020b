// One extent or stride: a number, or an expression over symbolic sizes. Eight bytes, so that the concrete dims of a
// real tensor can be read as an int64_t array.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace md {

namespace dim_expressions {
struct Expressions;
}

class Dim {
 public:
  constexpr Dim() = default;
  // Numbers below the symbolic mark are never an extent, stride or index: they are clamped to the mark.
  constexpr Dim(int64_t value) : raw_(value < kFirstSymbolic ? kFirstSymbolic : value) {}
  // The non-negative symbol of this name ("s0"); hint is the size seen at capture. Equal names
  // and hints are the same symbol.
  static Dim symbol(const std::string& name, int64_t hint);
  // The same for a number that may be negative.
  static Dim signed_symbol(const std::string& name, int64_t hint);
  // A symbol like those of symbol(), which can be combined with `other`, a symbolic dim, and lives as long.
  static Dim symbol_beside(Dim other, const std::string& name, int64_t hint);

  constexpr bool is_symbolic() const { return raw_ < kFirstSymbolic; }
  // The number. For a symbolic dim returns the hint and reports it to the thread's ShapeGuardSink; without a
  // sink this is an internal error.
  int64_t value() const {
    if (is_symbolic()) [[unlikely]]
      return specialised();
    return raw_;
  }
  // The number, or the hint of a symbolic dim.
  int64_t hint() const;
  std::string str() const;

  // Overflow raises Error(Runtime): sizes come from users.
  friend Dim operator+(Dim a, Dim b) {
    int64_t result;
    bool plain = !a.is_symbolic() && !b.is_symbolic() && !__builtin_add_overflow(a.raw_, b.raw_, &result);
    return plain && result >= 0 ? Dim(result) : combine(a, b, '+');
  }
  friend Dim operator-(Dim a, Dim b) {
    int64_t result;
    bool plain = !a.is_symbolic() && !b.is_symbolic() && !__builtin_sub_overflow(a.raw_, b.raw_, &result);
    return plain && result >= 0 ? Dim(result) : combine(a, b, '-');
  }
  friend Dim operator*(Dim a, Dim b) {
    int64_t result;
    bool plain = !a.is_symbolic() && !b.is_symbolic() && !__builtin_mul_overflow(a.raw_, b.raw_, &result);
    return plain && result >= 0 ? Dim(result) : combine(a, b, '*');
  }
  friend Dim floor_divide(Dim a, Dim b) { return combine(a, b, '/'); }
  // The remainder of floor_divide, with the sign of b.
  friend Dim remainder(Dim a, Dim b) { return a - b * floor_divide(a, b); }
  // Structural equality. To compare two dims as numbers use known_equal.
  friend constexpr bool same(Dim a, Dim b) { return a.raw_ == b.raw_; }

 private:
  friend class DimReader;
  int64_t specialised() const;
  static Dim make_symbol(dim_expressions::Expressions& table, const std::string& name, int64_t hint, bool is_signed);
  static Dim from_raw(int64_t raw);
  static Dim combine(Dim a, Dim b, char operation);
  static constexpr int64_t kFirstSymbolic = INT64_MIN / 2;  // below: INT64_MIN + index of an interned expression
  int64_t raw_ = 0;
};

// Comparisons with the same result for all sizes are decided without a guard. Others compare the hints and report that
// to the thread's ShapeGuardSink.
bool known_equal_symbolic(Dim a, Dim b);
bool known_less_symbolic(Dim a, Dim b);
inline bool known_equal(Dim a, Dim b) {
  return a.is_symbolic() || b.is_symbolic() ? known_equal_symbolic(a, b) : same(a, b);
}
inline bool known_less(Dim a, Dim b) {
  return a.is_symbolic() || b.is_symbolic() ? known_less_symbolic(a, b) : a.value() < b.value();
}

inline Dim magnitude(Dim dim) { return known_less(dim, 0) ? Dim(0) - dim : dim; }

// Whether they are equal as numbers, by hint; adds a guard only if they are.
inline bool known_equal_if_hinted(Dim a, Dim b) {
  if (!a.is_symbolic() && !b.is_symbolic()) return same(a, b);
  return same(a, b) || (a.hint() == b.hint() && known_equal(a, b));
}

enum class DimRelation : uint8_t { Equal, NotEqual, Less, NotLess };
struct SizeRelation {
  Dim a;
  DimRelation relation;
  Dim b;
};

// Records relations that a shape rule relied on; installed by a trace that captures symbolic sizes.
class ShapeGuardSink {
 public:
  virtual ~ShapeGuardSink() = default;
  virtual void relation(Dim a, DimRelation relation, Dim b) = 0;
};
ShapeGuardSink* exchange_shape_guard_sink(ShapeGuardSink* sink);

// Up to eight dims inline, more on the heap.
class DimVec {
 public:
  DimVec() = default;
  DimVec(std::initializer_list<Dim> dims) { assign(std::span<const Dim>(dims.begin(), dims.size())); }
  explicit DimVec(std::span<const Dim> dims) { assign(dims); }
  DimVec(const DimVec& other) { assign(other.span()); }
  DimVec(DimVec&& other) noexcept { take(other); }
  DimVec& operator=(const DimVec& other) {
    if (this != &other) assign(other.span());
    return *this;
  }
  DimVec& operator=(DimVec&& other) noexcept {
    if (this != &other) {
      drop_heap();
      take(other);
    }
    return *this;
  }
  ~DimVec() { drop_heap(); }

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Dim* data() { return on_heap() ? heap_ : inline_; }
  const Dim* data() const { return on_heap() ? heap_ : inline_; }
  Dim& operator[](int i) { return data()[i]; }
  const Dim& operator[](int i) const { return data()[i]; }
  Dim* begin() { return data(); }
  Dim* end() { return data() + size_; }
  const Dim* begin() const { return data(); }
  const Dim* end() const { return data() + size_; }
  std::span<const Dim> span() const { return {data(), static_cast<size_t>(size_)}; }
  void push_back(Dim dim) {
    resize(size_ + 1);
    data()[size_ - 1] = dim;
  }
  void resize(int size, Dim fill = 0) {
    if (size > capacity_) grow(size);
    Dim* dims = data();
    for (int i = size_; i < size; ++i) dims[i] = fill;
    size_ = size;
  }
  void insert(int at, Dim dim);
  void erase(int at);
  // dims must not alias this vector.
  void assign(std::span<const Dim> dims) {
    int size = static_cast<int>(dims.size());
    if (size > capacity_) grow(size);
    Dim* into = data();
    for (int i = 0; i < size; ++i) into[i] = dims[static_cast<size_t>(i)];
    size_ = size;
  }

 private:
  static constexpr int kInline = 8;
  bool on_heap() const { return heap_ != nullptr; }
  void drop_heap() {
    if (on_heap()) free_heap();
  }
  void free_heap();
  // Leaves `other` empty and without heap memory; must be called on an empty vector.
  void take(DimVec& other) noexcept {
    size_ = std::exchange(other.size_, 0);
    capacity_ = std::exchange(other.capacity_, kInline);
    heap_ = std::exchange(other.heap_, nullptr);
    if (on_heap()) return;
    for (int i = 0; i < size_; ++i) inline_[i] = other.inline_[i];
  }
  // Grows the capacity to at least `size`; keeps the elements.
  void grow(int size);

  int size_ = 0;
  int capacity_ = kInline;
  Dim* heap_ = nullptr;  // owned; used instead of inline_ if capacity_ > kInline
  Dim inline_[kInline];
};

bool same(const DimVec& a, const DimVec& b);
Dim product(std::span<const Dim> dims);
bool any_symbolic(std::span<const Dim> dims);
std::string str(std::span<const Dim> dims);       // "(2, 3)", "(4,)", "()"
std::string list_str(std::span<const Dim> dims);  // "[2, 3]"
DimVec contiguous_strides(std::span<const Dim> sizes);

}  // namespace md
