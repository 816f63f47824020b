// Kernels that copy parts of tensors: cat, stack, indexing, masks, triangles.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "tensor/fill.h"
#include "tensor/kernels/item_words.h"
#include "tensor/numeric_cast.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/ops/shape_rules.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/copy.h"
#include "tensor/simd/loops.h"
#include "tensor/simd/pointwise.h"
#include "tensor/simd/room.h"

namespace md {
namespace {

// Called for an index outside of [0, extent).
using RaiseOutside = void (*)(const OpCall& call, int64_t index, int64_t extent);

template <ErrorKind kKind, int kIndexed>
void raise_outside(const OpCall& call, int64_t index, int64_t extent) {
  raise_op(kKind, call.row.name, "index ", index, " is out of range for a dimension of size ", extent, "; shape ",
           str(tensor_arg(call, kIndexed).spec().sizes.span()));
}

void raise_no_class(const OpCall&, int64_t index, int64_t) {
  raise(ErrorKind::Index, "Target ", index, " is out of bounds.");
}

// All indices, checked before anything is written.
class Indices {
 public:
  Indices(const OpCall& call, const Tensor& index, int64_t extent, RaiseOutside raise_outside)
      : plain_(as_contiguous(index, DType::int64)) {
    std::atomic<bool> fits = true;
    parallel_for(size(), 0.15, [&](int64_t begin, int64_t end) {
      if (!loops().indices_fit(data() + begin, end - begin, extent)) fits = false;
    });
    for (int64_t i = 0; i < size() && !fits; ++i) {
      if (data()[i] < 0 || data()[i] >= extent) raise_outside(call, data()[i], extent);
    }
  }
  const int64_t* data() const { return plain_.data<const int64_t>(); }
  int64_t size() const { return plain_->numel(); }
  int64_t operator[](int64_t i) const { return data()[i]; }

 private:
  Tensor plain_;
};

// out[i, j] = src[i, indices[j]] for rows of `extent` elements.
void take_elements(const Tensor& src, int64_t rows, int64_t extent, const Indices& indices, const Tensor& out) {
  int64_t count = indices.size();
  const int64_t* at = indices.data();
  constexpr int64_t kShort = 1024;
  with_word(item_size(src->dtype()), [&]<typename Item>(Item) {
    if (rows > 1 && count < kShort) {
      return parallel_for(rows, static_cast<double>(count), [&](int64_t begin, int64_t end) {
        const Item* from = src.data<const Item>() + begin * extent;
        Item* to = out.data<Item>() + begin * count;
        for (int64_t i = begin; i < end; ++i, from += extent, to += count)
          for (int64_t k = 0; k < count; ++k) to[k] = from[at[k]];
      });
    }
    parallel_for(rows * count, 1.0, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end;) {
        int64_t column = i % count, n = std::min(end - i, count - column);
        const Item* from = src.data<Item>() + i / count * extent;
        Item* to = out.data<Item>() + i;
        for (int64_t k = 0; k < n; ++k) to[k] = from[at[column + k]];
        i += n;
      }
    });
  });
}

// out[.., i, ..] = src[.., indices[i], ..], both contiguous.
void take(const Tensor& src, int dim, const Indices& indices, const Tensor& out) {
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < dim; ++i) outer *= src->sizes()[i];
  for (int i = dim + 1; i < src->rank(); ++i) inner *= src->sizes()[i];
  int64_t extent = src->rank() == 0 ? 1 : src->sizes()[dim];
  if (inner == 1) return take_elements(src, outer, extent, indices, out);
  int64_t count = indices.size();
  const int64_t* at = indices.data();
  size_t bytes = static_cast<size_t>(inner) * item_size(src->dtype());
  parallel_for(outer * count, 5.0 + 0.05 * static_cast<double>(bytes), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t from = i / count * extent + at[i % count];
      std::memcpy(out.data<char>() + static_cast<size_t>(i) * bytes,
                  src.data<char>() + static_cast<size_t>(from) * bytes, bytes);
    }
  });
}

// A row of a triangle: the elements [begin, end) of `from`, the others 0.
struct KeptPart {
  size_t begin, end;
};

void keep_part(const char* from, char* to, const KeptPart& kept, size_t width) {
  std::memset(to, 0, kept.begin);
  std::memcpy(to + kept.begin, from + kept.begin, kept.end - kept.begin);
  std::memset(to + kept.end, 0, width - kept.end);
}

// The same where rows are too short for calls.
template <typename Word>
void keep_words(const char* from, char* to, const KeptPart& kept, size_t width) {
  constexpr size_t kItem = sizeof(Word);
  for (size_t i = 0; i < width / kItem; ++i) {
    bool is_kept = i >= kept.begin / kItem && i < kept.end / kItem;
    reinterpret_cast<Word*>(to)[i] = is_kept ? reinterpret_cast<const Word*>(from)[i] : Word{};
  }
}

void triangle(const OpCall& call, const Tensor& out, bool lower) {
  Tensor src = as_contiguous(tensor_arg(call, 0), out->dtype());
  if (out->numel() == 0) return;
  constexpr int64_t kShort = 16;
  int64_t diagonal = int_arg(call, 1);
  int64_t rows = out->sizes()[out->rank() - 2], columns = out->sizes()[out->rank() - 1];
  size_t item = item_size(out->dtype()), width = static_cast<size_t>(columns) * item;
  auto keep = with_word(item, [&]<typename Word>(Word) { return columns > kShort ? keep_part : keep_words<Word>; });
  parallel_for(out->numel() / columns, 0.1 * static_cast<double>(columns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin, n = 1; i < end; i += n) {
      // Columns before `border` are below or on the diagonal; all of them are in the rows after the first such one.
      __int128 wide = static_cast<__int128>(i % rows) + diagonal + (lower ? 1 : 0);
      size_t border = static_cast<size_t>(std::clamp<__int128>(wide, 0, columns)) * item;
      n = border == width ? std::min(end - i, rows - i % rows) : 1;
      const char* from = src.data<char>() + static_cast<size_t>(i) * width;
      char* to = out.data<char>() + static_cast<size_t>(i) * width;
      if (n > 1) {
        size_t bytes = static_cast<size_t>(n) * width;
        lower ? static_cast<void>(std::memcpy(to, from, bytes)) : static_cast<void>(std::memset(to, 0, bytes));
      } else {
        keep(from, to, lower ? KeptPart{0, border} : KeptPart{border, width}, width);
      }
    }
  });
}

// A row of a joined tensor has a piece of each; false for those that are not contiguous, of one dtype, and cut within
// rows.
bool cat_rows(const std::vector<Tensor>& tensors, int dim, const Tensor& out) {
  int64_t outer = 1, inner = static_cast<int64_t>(item_size(out->dtype()));
  for (int i = 0; i < dim; ++i) outer *= out->sizes()[i];
  for (int i = dim + 1; i < out->rank(); ++i) inner *= out->sizes()[i];
  if (outer < 2 || inner == 0 || !out->is_contiguous()) return false;
  constexpr int64_t kShortest = 32;  // bytes of a piece, below which words are moved faster than memory
  std::vector<std::pair<const char*, size_t>> pieces;
  for (const Tensor& tensor : tensors) {
    if (tensor->numel() == 0) continue;
    if (tensor->dtype() != out->dtype() || !tensor->is_contiguous()) return false;
    pieces.emplace_back(tensor.data<const char>(), static_cast<size_t>(tensor->sizes()[dim] * inner));
  }
  if (out->sizes()[dim] * inner < kShortest * static_cast<int64_t>(pieces.size())) return false;
  double ns = 4.0 * static_cast<double>(pieces.size()) + 0.1 * static_cast<double>(out->sizes()[dim] * inner);
  parallel_for(outer, ns, [&](int64_t begin, int64_t end) {
    char* to = out.data<char>() + begin * out->sizes()[dim] * inner;
    for (int64_t row = begin; row < end; ++row)
      for (const auto& [from, bytes] : pieces) {
        std::memcpy(to, from + static_cast<size_t>(row) * bytes, bytes);
        to += bytes;
      }
  });
  return true;
}

}  // namespace

void cat_kernel(const OpCall& call, std::span<Tensor> outs) {
  int dim = wrap_dim(call, int_arg(call, 1), outs[0]->rank());
  if (cat_rows(tensors_arg(call, 0), dim, outs[0])) return note_joined(tensors_arg(call, 0)[0], outs[0]);
  int64_t start = 0;
  for (const Tensor& tensor : tensors_arg(call, 0)) {
    if (tensor->numel() == 0 && tensor->rank() != outs[0]->rank()) continue;
    int64_t length = tensor->sizes()[dim];
    copy_elements(tensor, part_of(outs[0], dim, start, length));
    start += length;
  }
  note_joined(tensors_arg(call, 0)[0], outs[0]);
}

void stack_kernel(const OpCall& call, std::span<Tensor> outs) {
  int dim = wrap_dim(call, int_arg(call, 1), outs[0]->rank());
  int64_t position = 0;
  for (const Tensor& tensor : tensors_arg(call, 0)) {
    TensorSpec spec = outs[0].spec();
    spec.sizes.erase(dim);
    spec.strides.erase(dim);
    copy_elements(tensor, Tensor::view(outs[0], spec, outs[0]->offset() + position++ * outs[0]->strides()[dim]));
  }
}

void index_select_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& self = tensor_arg(call, 0);
  int dim = wrap_dim(call, int_arg(call, 1), self->rank());
  Indices indices(call, tensor_arg(call, 2), self->rank() == 0 ? 1 : self->sizes()[dim],
                  raise_outside<ErrorKind::Index, 0>);
  if (outs[0]->numel() > 0) take(as_contiguous(self, self->dtype()), dim, indices, outs[0]);
}

void embedding_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& weight = tensor_arg(call, 1);
  Indices indices(call, tensor_arg(call, 0), weight->sizes()[0], raise_outside<ErrorKind::Index, 1>);
  if (outs[0]->numel() > 0) take(as_contiguous(weight, weight->dtype()), 0, indices, outs[0]);
}

static void gather(const OpCall& call, const Tensor& out, RaiseOutside raise_outside) {
  const Tensor& self = tensor_arg(call, 0);
  int dim = wrap_dim(call, int_arg(call, 1), self->rank());
  Indices indices(call, tensor_arg(call, 2), self->rank() == 0 ? 1 : self->sizes()[dim], raise_outside);
  if (out->numel() == 0) return;
  int last = out->rank() - 1;
  int64_t width = last < 0 ? 1 : out->sizes()[last];
  int64_t dim_stride = self->rank() == 0 ? 0 : self->strides()[dim];
  int64_t step = last < 0 || last == dim || last >= self->rank() ? 0 : self->strides()[last];
  with_word(item_size(self->dtype()), [&]<typename Item>(Item) {
    parallel_for(out->numel() / width, 2.0 * static_cast<double>(width), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const Item* from = self.data<Item>();
        for (int64_t d = last - 1, rest = row; d >= 0; --d) {
          if (d != dim && d < self->rank()) from += rest % out->sizes()[d] * self->strides()[d];
          rest /= out->sizes()[d];
        }
        Item* to = out.data<Item>() + row * width;
        const int64_t* index = indices.data() + row * width;
        for (int64_t i = 0; i < width; ++i) to[i] = from[index[i] * dim_stride + i * step];
      }
    });
  });
}

// As in torch, gather raises RuntimeError and the others IndexError.
void gather_kernel(const OpCall& call, std::span<Tensor> outs) {
  gather(call, outs[0], raise_outside<ErrorKind::Runtime, 0>);
}
void chosen_classes_kernel(const OpCall& call, std::span<Tensor> outs) { gather(call, outs[0], raise_no_class); }

void masked_fill_kernel(const OpCall& call, std::span<Tensor> outs) {
  static const OpRow* const where = find_op("where");
  const Tensor& self = tensor_arg(call, 0);
  Arg value = call.args[2];
  if (Tensor* tensor = std::get_if<Tensor>(&value)) {
    if ((*tensor)->rank() != 0) {
      raise_op(ErrorKind::Runtime, call.row.name, "only supports a 0-dimensional value tensor, but got tensor with ",
               (*tensor)->rank(), " dimension(s)", operand_shapes(call));
    }
    if ((*tensor)->dtype() != self->dtype()) *tensor = as_contiguous(*tensor, self->dtype());
  } else {
    require_fits(call, self->dtype(), std::get<Scalar>(value));
  }
  Arg args[] = {tensor_arg(call, 1), value, self};
  pointwise_kernel({*where, args}, outs);
}

void tril_kernel(const OpCall& call, std::span<Tensor> outs) { triangle(call, outs[0], true); }
void triu_kernel(const OpCall& call, std::span<Tensor> outs) { triangle(call, outs[0], false); }

}  // namespace md
