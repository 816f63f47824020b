// Fourier transforms over the last dims, one dim after the other.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>

#include "tensor/kernels/fourier_plan.h"
#include "tensor/kernels/fourier_rows.h"
#include "tensor/kernels/fourier_tiles.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"
#include "tensor/parallel/threads.h"
#include "tensor/simd/copy.h"
#include "tensor/simd/element_walk.h"

namespace md {
namespace {

enum class Form : uint8_t { Complex, FromReal, ToReal };

struct Mode {
  int dims;
  bool inverse;
  std::string scaled;

  // What the result of n summed terms is multiplied by.
  double scale(double n) const {
    if (scaled == "ortho") return 1 / std::sqrt(n);
    return inverse == (scaled == "backward") ? 1 / n : 1;
  }
};

// "2 inverse ortho".
Mode mode_of(const std::string& text) {
  size_t direction = text.find(' ') + 1, norm = text.find(' ', direction) + 1;
  return {std::stoi(text), text.compare(direction, 7, "inverse") == 0, text.substr(norm)};
}

// The lines of a tensor along one dim, in the order of its other dims; in numbers of T.
template <typename T>
class Lines {
 public:
  Lines(const Tensor& tensor, int dim) : data_(tensor.data<T>()), parts_(is_complex(tensor->dtype()) ? 2 : 1) {
    int64_t sizes[ElementWalk::kMaxRank], strides[ElementWalk::kMaxRank];
    int rank = 0;
    for (int i = 0; i < tensor->rank(); ++i) {
      if (i == dim) continue;
      sizes[rank] = tensor->sizes()[i];
      strides[rank++] = tensor->strides()[i];
      count_ *= tensor->sizes()[i];
    }
    walk_.emplace(std::span<const int64_t>{sizes, static_cast<size_t>(rank)});
    walk_->add(item_size(tensor->dtype()), strides);
    walk_->finish(false);
    step_ = tensor->strides()[dim] * parts_;
  }
  int64_t count() const { return count_; }
  int64_t start(int64_t line) const { return walk_->offset(0, line) / static_cast<int64_t>(sizeof(T)); }
  T* data() const { return data_; }
  // Of complex numbers; of pairs of real ones; of real ones.
  FourierRow<T> numbers(int64_t line) const { return {data_ + start(line), step_, parts_ - 1}; }
  FourierRow<T> pairs(int64_t line) const { return {data_ + start(line), 2 * step_, step_}; }

 private:
  T* data_;
  int64_t parts_, step_ = 0, count_ = 1;
  std::optional<ElementWalk> walk_;
};

template <typename T>
struct Job {
  Form form;
  int64_t n;
  T scale;
  bool inverse;
  // Real numbers of an even size are transformed as pairs.
  bool by_pairs() const { return form != Form::Complex && n % 2 == 0; }
  int64_t size() const { return by_pairs() ? n / 2 : n; }
  int64_t kept() const { return n / 2 + 1; }
};

// Numbers k > n / 2 are conjugates.
template <typename T>
void complete(int64_t n, int64_t lanes, T* re, T* im) {
  std::memset(im, 0, static_cast<size_t>(lanes) * sizeof(T));
  for (int64_t k = n / 2 + 1; k < n; ++k) {
    for (int64_t lane = 0; lane < lanes; ++lane) {
      re[k * lanes + lane] = re[(n - k) * lanes + lane];
      im[k * lanes + lane] = -im[(n - k) * lanes + lane];
    }
  }
}

template <typename T>
FourierPlaces places_of(const int64_t* starts, int64_t count, const FourierRow<T>& like) {
  return {starts, count, like.step, like.other};
}

// A tile of lines: its lanes are transformed at once.
template <typename T>
class LaneTransform {
 public:
  LaneTransform(const Job<T>& job, const Lines<T>& from, const Lines<T>& to)
      : job_(job), from_(from), to_(to), columns_(FourierColumns<T>::of(job.size())) {
    if (job.by_pairs()) roots_ = FourierRoots<T>::of(job.n);
  }
  int64_t room() const { return std::max(columns_->room(), job_.kept()); }

  void run(int64_t first, int64_t count, FourierTiles<T>& tiles, int64_t* starts) const {
    FourierTile<T> tile = tiles.first, other = tiles.second;
    for (int64_t i = 0; i < count; ++i) starts[i] = from_.start(first + i);
    load(places_of(starts, count, job_.form == Form::FromReal && job_.by_pairs() ? from_.pairs(0) : from_.numbers(0)),
         tile, other);
    if (job_.inverse) exchange(tile, other);
    columns_->run(tile, other);
    if (job_.inverse) exchange(tile, other);
    for (int64_t i = 0; i < count; ++i) starts[i] = to_.start(first + i);
    store(places_of(starts, count, job_.form == Form::ToReal && job_.by_pairs() ? to_.pairs(0) : to_.numbers(0)), tile,
          other);
  }

 private:
  static void exchange(FourierTile<T>& tile, FourierTile<T>& other) {
    std::swap(tile.re, tile.im);
    std::swap(other.re, other.im);
  }

  void load(const FourierPlaces& places, FourierTile<T>& tile, FourierTile<T>& other) const {
    const FourierLoops<T>& loops = fourier_loops_of<T>();
    bool halved = job_.form == Form::ToReal;
    loops.load(from_.data(), places, halved ? job_.kept() : job_.size(), tile.re, tile.im);
    if (!halved) return;
    if (!job_.by_pairs()) return complete(job_.n, loops.lanes, tile.re, tile.im);
    loops.together(roots_->data(), job_.size(), tile.re, tile.im, other.re, other.im);
    std::swap(tile, other);
  }

  void store(const FourierPlaces& places, FourierTile<T>& tile, FourierTile<T>& other) const {
    const FourierLoops<T>& loops = fourier_loops_of<T>();
    bool halves = job_.form == Form::FromReal;
    if (halves && job_.by_pairs()) {
      loops.apart(roots_->data(), job_.size(), tile.re, tile.im, other.re, other.im);
      std::swap(tile, other);
    }
    loops.store(tile.re, tile.im, places, halves ? job_.kept() : job_.size(), job_.scale, to_.data());
  }

  const Job<T>& job_;
  const Lines<T>& from_;
  const Lines<T>& to_;
  std::shared_ptr<const FourierColumns<T>> columns_;
  std::shared_ptr<const FourierRoots<T>> roots_;
};

// Of the complex numbers of a row: as FourierLoops::apart and together, with the scale.
template <typename T>
void apart(const T* turns, int64_t half, const T* row, const FourierRow<T>& to, T scale) {
  for (int64_t k = 0; k <= half; ++k) {
    const T* a = row + 2 * (k == half ? 0 : k);
    const T* b = row + 2 * (k == 0 ? 0 : half - k);
    T even_re = (a[0] + b[0]) / 2, even_im = (a[1] - b[1]) / 2;
    T odd_re = (a[1] + b[1]) / 2, odd_im = (b[0] - a[0]) / 2;
    T re = turns[2 * k], im = turns[2 * k + 1];
    to.data[k * to.step] = scale * (even_re + odd_re * re - odd_im * im);
    to.data[k * to.step + to.other] = scale * (even_im + odd_re * im + odd_im * re);
  }
}
template <typename T>
void together(const T* turns, int64_t half, const FourierRow<T>& from, T* row) {
  for (int64_t k = 0; k < half; ++k) {
    const T* a = from.data + k * from.step;
    const T* b = from.data + (half - k) * from.step;
    T a_im = k == 0 ? T(0) : a[from.other], b_im = k == 0 ? T(0) : -b[from.other];
    T re = a[0] - b[0], im = a_im - b_im;
    T odd_re = re * turns[2 * k] + im * turns[2 * k + 1], odd_im = im * turns[2 * k] - re * turns[2 * k + 1];
    row[2 * k] = a[0] + b[0] - odd_im;
    row[2 * k + 1] = a_im + b_im + odd_re;
  }
}

template <typename T>
FourierRow<const T> readable(const FourierRow<T>& row) {
  return {row.data, row.step, row.other};
}

// One line after the other; transform(from, to, scale, inverse) has the job's size.
template <typename T, typename Transform>
class LineTransform {
 public:
  LineTransform(const Job<T>& job, const Lines<T>& from, const Lines<T>& to, const Transform& transform)
      : job_(job), from_(from), to_(to), transform_(transform) {
    if (job.form == Form::Complex) return;
    memory_ = Storage::allocate(static_cast<size_t>(2 * job.n) * sizeof(T));
    if (job.by_pairs()) roots_ = FourierRoots<T>::of(job.n);
  }

  void run(int64_t line) {
    switch (job_.form) {
      case Form::Complex:
        return transform_(readable(from_.numbers(line)), to_.numbers(line), job_.scale, job_.inverse);
      case Form::FromReal:
        return from_real(line);
      case Form::ToReal:
        return to_real(line);
    }
  }

 private:
  T* row() const { return static_cast<T*>(memory_->data()); }
  FourierRow<T> whole() const { return {row(), 2, 1}; }

  void from_real(int64_t line) {
    if (job_.by_pairs()) {
      transform_(readable(from_.pairs(line)), whole(), T(1), job_.inverse);
      return apart(roots_->data(), job_.n / 2, row(), to_.numbers(line), job_.scale);
    }
    transform_(readable(from_.numbers(line)), whole(), job_.scale, job_.inverse);
    FourierRow<T> out = to_.numbers(line);
    for (int64_t k = 0; k < job_.kept(); ++k) {
      out.data[k * out.step] = row()[2 * k];
      out.data[k * out.step + out.other] = row()[2 * k + 1];
    }
  }

  void to_real(int64_t line) {
    FourierRow<T> in = from_.numbers(line);
    int64_t half = job_.n / 2;
    if (job_.by_pairs()) {
      together(roots_->data(), half, in, row());
      return transform_(readable(whole()), to_.pairs(line), job_.scale, job_.inverse);
    }
    for (int64_t k = 0; k < job_.n; ++k) {
      const T* number = in.data + std::min(k, job_.n - k) * in.step;
      row()[2 * k] = number[0];
      row()[2 * k + 1] = k == 0 ? T(0) : k <= half ? number[in.other] : -number[in.other];
    }
    transform_(readable(whole()), to_.numbers(line), job_.scale, job_.inverse);
  }

  const Job<T>& job_;
  const Lines<T>& from_;
  const Lines<T>& to_;
  const Transform& transform_;
  StoragePtr memory_;
  std::shared_ptr<const FourierRoots<T>> roots_;
};

// Threads share the parts of a single line, else the lines.
template <typename T>
void transform_lines(const Job<T>& job, const Lines<T>& from, const Lines<T>& to, double ns) {
  if (from.count() == 1) {
    auto shared = [&](FourierRow<const T> src, FourierRow<T> dst, T scale, bool inverse) {
      transform_row(src, dst, job.size(), scale, inverse);
    };
    return LineTransform(job, from, to, shared).run(0);
  }
  parallel_for(from.count(), ns, [&](int64_t begin, int64_t end) {
    FourierRows<T> rows(job.size());
    auto alone = [&](FourierRow<const T> src, FourierRow<T> dst, T scale, bool inverse) {
      rows.run(src, dst, scale, inverse);
    };
    LineTransform<T, decltype(alone)> transform(job, from, to, alone);
    for (int64_t line = begin; line < end; ++line) transform.run(line);
  });
}

// Whether there are lines for the lanes; those that would leave some of them idle are divided, if they are long.
template <typename T>
bool suits_lanes(int64_t count, int64_t size) {
  int64_t lanes = fourier_loops_of<T>().lanes;
  if (size < kShortFourierRow) return true;
  if (size > kMostFourierColumn || count < lanes / 2) return false;
  return count >= lanes || !FourierSplit<T>::suits(size);
}

template <typename T>
void transform_dim(const Tensor& from, const Tensor& to, int dim, const Job<T>& job) {
  Lines<T> in(from, dim), out(to, dim);
  int64_t lanes = fourier_loops_of<T>().lanes, count = in.count(), size = job.size();
  double ns = static_cast<double>(size) * 0.4 * std::log2(static_cast<double>(size) + 1);
  if (!suits_lanes<T>(count, size)) return transform_lines(job, in, out, ns);
  LaneTransform<T> transform(job, in, out);
  parallel_for((count + lanes - 1) / lanes, ns * static_cast<double>(lanes), [&](int64_t begin, int64_t end) {
    FourierTiles<T> tiles(transform.room());
    std::vector<int64_t> starts(static_cast<size_t>(lanes));
    for (int64_t i = begin; i < end; ++i)
      transform.run(i * lanes, std::min(lanes, count - i * lanes), tiles, starts.data());
  });
}

// All dims but the last `skipped` ones of those that the mode names, from the last to the first.
template <typename T>
void transform_dims(Tensor from, const Tensor& to, const Mode& mode, int skipped, double scale) {
  int rank = to->rank();
  for (int dim = rank - 1 - skipped; dim >= rank - mode.dims; --dim) {
    Job<T> job = {Form::Complex, to->sizes()[dim], static_cast<T>(scale), mode.inverse};
    transform_dim<T>(from, to, dim, job);
    from = to;
    scale = 1;
  }
}

double terms_of(const Tensor& whole, const Mode& mode) {
  double n = 1;
  for (int dim = whole->rank() - mode.dims; dim < whole->rank(); ++dim) n *= static_cast<double>(whole->sizes()[dim]);
  return n;
}

template <typename Run>
void with_part(const Tensor& tensor, const Run& run) {
  DType dtype = is_complex(tensor->dtype()) ? part_dtype(tensor->dtype()) : tensor->dtype();
  if (dtype == DType::float64) return run(double{});
  run(float{});
}

}  // namespace

void fourier_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor &x = tensor_arg(call, 0), &out = outs[0];
  if (out->numel() == 0) return;
  Mode mode = mode_of(arg_as<std::string>(call, 1));
  with_part(x, [&]<typename T>(T) { transform_dims<T>(x, out, mode, 0, mode.scale(terms_of(x, mode))); });
}

void real_fourier_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor &x = tensor_arg(call, 0), &out = outs[0];
  if (out->numel() == 0) return;
  Mode mode = mode_of(arg_as<std::string>(call, 1));
  int last = x->rank() - 1;
  with_part(x, [&]<typename T>(T) {
    Job<T> job = {Form::FromReal, x->sizes()[last], static_cast<T>(mode.scale(terms_of(x, mode))), mode.inverse};
    transform_dim<T>(x, out, last, job);
    transform_dims<T>(out, out, mode, 1, 1);
  });
}

void half_fourier_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor &x = tensor_arg(call, 0), &out = outs[0];
  if (out->numel() == 0) return;
  Mode mode = mode_of(arg_as<std::string>(call, 2));
  int last = x->rank() - 1;
  with_part(x, [&]<typename T>(T) {
    Tensor from = x;
    if (mode.dims > 1) {
      from = Tensor::empty(TensorSpec::contiguous(x->dtype(), x->spec().sizes));
      transform_dims<T>(x, from, mode, 1, 1);
    }
    Job<T> job = {Form::ToReal, out->sizes()[last], static_cast<T>(mode.scale(terms_of(out, mode))), mode.inverse};
    transform_dim<T>(from, out, last, job);
  });
}

}  // namespace md
