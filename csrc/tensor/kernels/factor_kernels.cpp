// LU, Cholesky and QR decompositions, and what follows from them: solutions, inverses, determinants.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

#include "tensor/kernels/failed_matrices.h"
#include "tensor/matrices/cholesky.h"
#include "tensor/matrices/lu.h"
#include "tensor/matrices/reflections.h"
#include "tensor/matrices/stack.h"
#include "tensor/matrices/tiny.h"
#include "tensor/matrices/triangles.h"
#include "tensor/ops/call_args.h"
#include "tensor/ops/kernels.h"

namespace md {
namespace {

// Calls f.operator()<T>() for the dtypes of decompositions.
template <typename F>
void with_factor_type(DType dtype, const F& f) {
  if (dtype == DType::float32) return f.template operator()<float>();
  if (dtype == DType::float64) return f.template operator()<double>();
  if (dtype == DType::complex64) return f.template operator()<Complex<float>>();
  MD_ASSERT(dtype == DType::complex128, "a decomposition of ", row(dtype).name);
  f.template operator()<Complex<double>>();
}

// Memory for one matrix with contiguous columns.
template <typename T>
class MatrixRoom {
 public:
  MatrixRoom(int64_t rows, int64_t columns)
      : items_(static_cast<size_t>(rows * columns)), block_(Block<T>::of_columns(items_.data(), rows, columns)) {}
  MatrixRoom(const MatrixRoom&) = delete;
  MatrixRoom& operator=(const MatrixRoom&) = delete;
  const Block<T>& block() const { return block_; }

 private:
  std::vector<T> items_;
  Block<T> block_;
};

template <typename T>
void fill_identity(const Block<T>& block) {
  T one;
  if constexpr (is_complex_type<T>) {
    one = {1, 0};
  } else {
    one = 1;
  }
  for (int64_t j = 0; j < block.columns; ++j) {
    for (int64_t i = 0; i < block.rows; ++i) block.at(i, j) = i == j ? one : T{};
  }
}

// What is on the other side of the diagonal becomes 0.
template <typename T>
void clear_above(const Block<T>& block) {
  for (int64_t j = 1; j < block.columns; ++j) {
    for (int64_t i = 0; i < std::min(j, block.rows); ++i) block.at(i, j) = T{};
  }
}

// The LU decomposition of one matrix at a time, in memory of its own.
template <typename T>
class Lu {
 public:
  explicit Lu(int64_t n) : n_(n), factors_(n, n), places_(static_cast<size_t>(n)) {}

  // Returns factor_lu's number.
  int32_t factor(const Block<const T>& matrix) {
    copy_block(matrix, factors_.block());
    return static_cast<int32_t>(factor_lu(factors_.block(), true, places_.data()));
  }
  void solve(const Block<T>& b) const {
    exchange_rows(b, places_.data(), n_);
    solve_lower(read_only(factors_.block()), Diagonal::Ones, b);
    solve_upper(read_only(factors_.block()), Diagonal::Read, b);
  }
  // u^-1 @ l^-1, of which the latter is a triangle, and then its columns exchanged.
  void invert(const Block<T>& inverse) const {
    Block<const T> lu = read_only(factors_.block());
    fill_identity(inverse);
    constexpr int64_t kColumns = 64;
    for (int64_t j = 0; j < n_; j += kColumns) {
      int64_t rest = n_ - j;
      solve_lower(lu.part(j, j, rest, rest), Diagonal::Ones, inverse.part(j, j, rest, std::min(kColumns, rest)));
    }
    solve_upper(lu, Diagonal::Read, inverse);
    exchange_rows(inverse.turned(), places_.data(), n_, true);
  }
  const Block<T>& factors() const { return factors_.block(); }
  bool is_odd() const {
    int64_t exchanges = 0;
    for (int64_t k = 0; k < n_; ++k) exchanges += places_[static_cast<size_t>(k)] != k;
    return exchanges % 2 != 0;
  }

 private:
  int64_t n_;
  MatrixRoom<T> factors_;
  std::vector<int32_t> places_;
};

// use(lu, index) of each matrix; infos[index]: factor_lu's number.
template <typename T, typename Use>
void for_each_lu(const Tensor& matrices, int64_t right_sides, int32_t* infos, const Use& use) {
  MatrixStack<const T> stack(matrices);
  int64_t n = stack.rows();
  for_matrices(stack.count(), n * n * n / 3 + n * n * right_sides, n * (n + right_sides),
               [&](int64_t first, int64_t end) {
                 Lu<T> lu(n);
                 for (int64_t i = first; i < end; ++i) {
                   infos[i] = lu.factor(stack[i]);
                   use(lu, i);
                 }
               });
}

template <typename T>
bool is_tiny(int64_t n) {
  return !is_complex_type<T> && n > 0 && n <= kMostTinyRows;
}

// Calls run(i) of a new run = make.operator()<N>() for each of `count` matrices of n rows.
template <typename Make>
void for_tiny(int64_t count, int64_t n, int64_t right_sides, const Make& make) {
  with_tiny_size(n, [&]<int N>() {
    for_matrices(count, int64_t{N} * N * (N + right_sides), N * (N + right_sides), [&](int64_t first, int64_t end) {
      auto run = make.template operator()<N>();
      for (int64_t i = first; i < end; ++i) run(i);
    });
  });
}

template <typename T, int N>
void solve_tiny_columns(const TinyLu<T, N>& lu, const Block<const T>& b, const Block<T>& x) {
  for (int64_t j = 0; j < x.columns; ++j) {
    T column[N];
    for (int k = 0; k < N; ++k) column[k] = b.at(k, j);
    lu.solve(column);
    for (int k = 0; k < N; ++k) x.at(k, j) = column[k];
  }
}

template <int N, typename T>
void solve_tiny_triangle(const T (&triangle)[N][N], bool upper, bool has_ones, const Block<const T>& b,
                         const Block<T>& x) {
  for (int64_t j = 0; j < x.columns; ++j) {
    T column[N];
    for (int k = 0; k < N; ++k) column[k] = b.at(k, j);
    upper ? solve_tiny_upper(triangle, has_ones, column) : solve_tiny_lower(triangle, has_ones, column);
    for (int k = 0; k < N; ++k) x.at(k, j) = column[k];
  }
}

template <typename T>
void solve_all_tiny(const Tensor& matrices, const Tensor& sides, const Tensor& out, int32_t* infos) {
  MatrixStack<const T> stack(matrices), from(sides);
  MatrixStack<T> to(out);
  for_tiny(to.count(), to.rows(), to.columns(), [&]<int N>() {
    return [&](int64_t i) {
      TinyLu<T, N> lu;
      infos[i] = lu.factor(stack[i], true);
      solve_tiny_columns(lu, from[i], to[i]);
    };
  });
}

template <typename T>
void invert_all_tiny(const Tensor& matrices, const Tensor& out, int32_t* infos) {
  MatrixStack<const T> stack(matrices);
  MatrixStack<T> to(out);
  for_tiny(to.count(), to.rows(), to.columns(), [&]<int N>() {
    return [&](int64_t i) {
      TinyLu<T, N> lu;
      infos[i] = lu.factor(stack[i], true);
      T inverse[N][N];
      for (int j = 0; j < N; ++j) {
        T column[N];
        for (int k = 0; k < N; ++k) column[k] = k == j ? 1 : 0;
        lu.solve(column);
        for (int k = 0; k < N; ++k) inverse[k][j] = column[k];
      }
      write_tiny(inverse, to[i]);
    };
  });
}

void solve_all(const Tensor& matrices, const Tensor& sides, const Tensor& out, int32_t* infos) {
  with_factor_type(out->dtype(), [&]<typename T>() {
    MatrixStack<const T> from(sides);
    MatrixStack<T> to(out);
    if constexpr (!is_complex_type<T>) {
      if (is_tiny<T>(to.rows())) return solve_all_tiny<T>(matrices, sides, out, infos);
    }
    for_each_lu<T>(matrices, from.columns(), infos, [&](const Lu<T>& lu, int64_t i) {
      copy_block(from[i], to[i]);
      lu.solve(to[i]);
    });
  });
}

void invert_all(const Tensor& matrices, const Tensor& out, int32_t* infos) {
  with_factor_type(out->dtype(), [&]<typename T>() {
    MatrixStack<T> to(out);
    if constexpr (!is_complex_type<T>) {
      if (is_tiny<T>(to.rows())) return invert_all_tiny<T>(matrices, out, infos);
    }
    for_each_lu<T>(matrices, 2 * to.columns() / 3, infos, [&](const Lu<T>& lu, int64_t i) { lu.invert(to[i]); });
  });
}

int64_t stack_size(const Tensor& matrices) { return MatrixStack<char>(matrices).count(); }

void cholesky_all(const Tensor& matrices, const Tensor& out, int32_t* infos) {
  with_factor_type(out->dtype(), [&]<typename T>() {
    MatrixStack<const T> from(matrices);
    MatrixStack<T> to(out);
    int64_t n = to.rows();
    if constexpr (!is_complex_type<T>) {
      if (is_tiny<T>(n)) {
        return for_tiny(to.count(), n, 0, [&]<int N>() {
          return [&](int64_t i) {
            T matrix[N][N];
            read_tiny(from[i], matrix);
            infos[i] = factor_tiny_cholesky(matrix);
            write_tiny(matrix, to[i]);
          };
        });
      }
    }
    for_matrices(to.count(), n * n * n / 6, n * n, [&](int64_t first, int64_t end) {
      for (int64_t i = first; i < end; ++i) {
        copy_block(from[i], to[i]);
        infos[i] = static_cast<int32_t>(factor_cholesky(to[i]));
        clear_above(to[i]);
      }
    });
  });
}

// Of a matrix and its transpose, the one whose columns are contiguous is copied faster; both have one determinant.
template <typename T>
Block<const T> either_way(const Block<const T>& matrix) {
  return matrix.row > matrix.step ? matrix.turned() : matrix;
}

template <typename T>
void write_determinant(const Lu<T>& lu, T* out) {
  T product = lu.is_odd() ? -1 : 1;
  for (int64_t k = 0; k < lu.factors().rows; ++k) product *= lu.factors().at(k, k);
  *out = product;
}

template <typename T>
void write_logarithm(const Lu<T>& lu, T* sign, T* logarithm) {
  bool is_negative = lu.is_odd();
  T sum = 0;
  for (int64_t k = 0; k < lu.factors().rows; ++k) {
    T head = lu.factors().at(k, k);
    is_negative = is_negative != (head < 0);
    sum += std::log(std::abs(head));
  }
  *sign = std::isnan(sum) ? sum : sum == -std::numeric_limits<T>::infinity() ? T(0) : T(is_negative ? -1 : 1);
  *logarithm = sum;
}

// write(lu, index) of each matrix of floats.
template <typename Write>
void for_determinants(const Tensor& matrices, const Write& write) {
  auto run = [&]<typename T>() {
    MatrixStack<const T> stack(matrices);
    int64_t n = stack.rows();
    for_matrices(stack.count(), n * n * n / 3, n * n, [&](int64_t first, int64_t end) {
      Lu<T> lu(n);
      for (int64_t i = first; i < end; ++i) {
        lu.factor(either_way(stack[i]));
        write(lu, i);
      }
    });
  };
  matrices->dtype() == DType::float64 ? run.template operator()<double>() : run.template operator()<float>();
}

// Q is null or has as many columns as R has rows.
template <typename T>
void factor_qr(const Tensor& matrices, const Tensor* q, const Tensor& r) {
  MatrixStack<const T> from(matrices);
  MatrixStack<T> to_r(r);
  int64_t rows = from.rows(), columns = from.columns(), steps = std::min(rows, columns);
  for_matrices(from.count(), 2 * rows * columns * steps, rows * columns, [&](int64_t first, int64_t end) {
    MatrixRoom<T> room(rows, columns);
    std::vector<T> taus(static_cast<size_t>(steps));
    Reflections<T> reflections;
    for (int64_t i = first; i < end; ++i) {
      copy_block(from[i], room.block());
      reflections.factor(room.block(), taus.data());
      Block<T> triangle = to_r[i];
      for (int64_t j = 0; j < triangle.columns; ++j) {
        for (int64_t y = 0; y < triangle.rows; ++y) triangle.at(y, j) = y <= j ? room.block().at(y, j) : T(0);
      }
      if (q != nullptr) reflections.product(read_only(room.block()), taus.data(), steps, MatrixStack<T>(*q)[i]);
    }
  });
}

// Solutions of matrices whose ranks are full beyond doubt.
template <typename T>
class LeastSquares {
 public:
  LeastSquares(int64_t rows, int64_t columns, double tolerance)
      : tall_(std::max(rows, columns)),
        steps_(std::min(rows, columns)),
        is_wide_(rows < columns),
        tolerance_(tolerance),
        factors_(tall_, steps_),
        inverse_(steps_, steps_),
        taus_(static_cast<size_t>(steps_)) {}

  // False: the rank is not known to be full.
  bool factor(const Block<const T>& matrix) {
    copy_block(is_wide_ ? matrix.turned() : matrix, factors_.block());
    reflections_.factor(factors_.block(), taus_.data());
    fill_identity(inverse_.block());
    solve_upper(triangle(), Diagonal::Read, inverse_.block());
    // The norms bound the largest singular value and the reciprocal of the smallest.
    double most = 1 / (norm(triangle()) * norm(read_only(inverse_.block())));
    return most > tolerance_;
  }

  // The shortest x with the least norm of matrix @ x - b. room: as many columns as b.
  void solve(const Block<const T>& b, const Block<T>& room, const Block<T>& x) {
    int64_t sides = b.columns;
    if (is_wide_) {
      copy_block(b, x.part(0, 0, steps_, sides));
      solve_lower(triangle().turned(), Diagonal::Read, x.part(0, 0, steps_, sides));
      for (int64_t j = 0; j < sides; ++j) {
        for (int64_t i = steps_; i < tall_; ++i) x.at(i, j) = 0;
      }
      reflections_.apply(read_only(factors_.block()), taus_.data(), steps_, false, x);
    } else {
      copy_block(b, room);
      reflections_.apply(read_only(factors_.block()), taus_.data(), steps_, true, room);
      copy_block(read_only(room.part(0, 0, steps_, sides)), x);
      solve_upper(triangle(), Diagonal::Read, x);
    }
  }

 private:
  Block<const T> triangle() const { return read_only(factors_.block().part(0, 0, steps_, steps_)); }
  static double norm(const Block<const T>& upper) {
    double squares = 0;
    for (int64_t j = 0; j < upper.columns; ++j) {
      for (int64_t i = 0; i <= j; ++i) squares += static_cast<double>(upper.at(i, j)) * upper.at(i, j);
    }
    return std::sqrt(squares);
  }

  int64_t tall_, steps_;
  bool is_wide_;
  double tolerance_;
  MatrixRoom<T> factors_, inverse_;
  std::vector<T> taus_;
  Reflections<T> reflections_;
};

// False: some matrix may not have the full rank.
template <typename T>
bool solve_least_squares(const OpCall& call, std::span<Tensor> outs) {
  MatrixStack<const T> matrices(tensor_arg(call, 0)), sides(tensor_arg(call, 1));
  MatrixStack<T> solutions(outs[0]);
  int64_t rows = matrices.rows(), columns = matrices.columns(), steps = std::min(rows, columns);
  double tolerance = arg_is_none(call, 2)
                         ? std::numeric_limits<T>::epsilon() * static_cast<double>(std::max(rows, columns))
                         : scalar_arg(call, 2).as_double();
  if (!(tolerance >= 0)) return false;
  std::atomic<bool> are_full = true;
  int64_t* ranks = outs[1].data<int64_t>();
  for_matrices(matrices.count(), 2 * rows * columns * steps, rows * columns, [&](int64_t first, int64_t end) {
    LeastSquares<T> problem(rows, columns, tolerance);
    MatrixRoom<T> room(rows, sides.columns()), found(columns, sides.columns());
    for (int64_t i = first; i < end && are_full.load(std::memory_order_relaxed); ++i) {
      if (!problem.factor(matrices[i])) return are_full.store(false, std::memory_order_relaxed);
      problem.solve(sides[i], room.block(), found.block());
      copy_block(read_only(found.block()), solutions[i]);
      ranks[i] = steps;
    }
  });
  return are_full;
}

constexpr const char* kNoInverse = "the inversion could not be completed";
constexpr const char* kNoSolution = "the solver failed";

}  // namespace

void lu_factor_kernel(const OpCall& call, std::span<Tensor> outs) {
  bool pivots = bool_arg(call, 1);
  with_factor_type(outs[0]->dtype(), [&]<typename T>() {
    MatrixStack<const T> from(tensor_arg(call, 0));
    MatrixStack<T> to(outs[0]);
    int64_t steps = std::min(to.rows(), to.columns());
    if constexpr (!is_complex_type<T>) {
      if (is_tiny<T>(to.rows()) && to.rows() == to.columns()) {
        return for_tiny(to.count(), steps, 0, [&]<int N>() {
          return [&](int64_t i) {
            TinyLu<T, N> lu;
            outs[2].data<int32_t>()[i] = lu.factor(from[i], pivots);
            write_tiny(lu.factors, to[i]);
            for (int k = 0; k < N; ++k) outs[1].data<int32_t>()[i * N + k] = lu.places[k] + 1;
          };
        });
      }
    }
    for_matrices(to.count(), to.rows() * to.columns() * steps / 2, to.rows() * to.columns(),
                 [&](int64_t first, int64_t end) {
                   for (int64_t i = first; i < end; ++i) {
                     copy_block(from[i], to[i]);
                     int32_t* places = outs[1].data<int32_t>() + i * steps;
                     outs[2].data<int32_t>()[i] = static_cast<int32_t>(factor_lu(to[i], pivots, places));
                     for (int64_t k = 0; k < steps; ++k) ++places[k];
                   }
                 });
  });
}

void pivot_order_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor& pivots = tensor_arg(call, 0);
  int64_t rows = outs[0]->sizes()[outs[0]->rank() - 1], steps = pivots->sizes()[pivots->rank() - 1];
  // As a matrix of one row, whatever its strides.
  Tensor places = Tensor::view(
      pivots,
      [&] {
        TensorSpec spec = pivots->spec();
        spec.sizes.push_back(steps);
        spec.strides.push_back(spec.strides[spec.rank() - 2]);
        spec.sizes[spec.rank() - 2] = 1;
        return spec;
      }(),
      pivots->offset());
  MatrixStack<const int32_t> stack(places);
  int64_t* order = outs[0].data<int64_t>();
  for (int64_t i = 0; i < stack.count(); ++i, order += rows) {
    for (int64_t k = 0; k < rows; ++k) order[k] = k;
    for (int64_t k = 0; k < steps; ++k) {
      int64_t place = stack[i].at(0, k) - int64_t{1};
      if (place < 0 || place >= rows || k >= rows) {
        raise_op(ErrorKind::Runtime, call.row.name, "pivots must be in [1, ", rows, "], but one is ", place + 1);
      }
      std::swap(order[k], order[place]);
    }
  }
}

void triangular_kernel(const OpCall& call, std::span<Tensor> outs) {
  bool upper = bool_arg(call, 2);
  Diagonal diagonal = bool_arg(call, 3) ? Diagonal::Ones : Diagonal::Read;
  with_factor_type(outs[0]->dtype(), [&]<typename T>() {
    MatrixStack<const T> triangles(tensor_arg(call, 0)), from(tensor_arg(call, 1));
    MatrixStack<T> to(outs[0]);
    int64_t n = to.rows(), columns = to.columns();
    if constexpr (!is_complex_type<T>) {
      if (is_tiny<T>(n)) {
        return for_tiny(to.count(), n, columns, [&]<int N>() {
          return [&](int64_t i) {
            T triangle[N][N];
            read_tiny(triangles[i], triangle);
            solve_tiny_triangle(triangle, upper, diagonal == Diagonal::Ones, from[i], to[i]);
          };
        });
      }
    }
    for_matrices(to.count(), n * n * columns / 2, n * (n + columns), [&](int64_t first, int64_t end) {
      for (int64_t i = first; i < end; ++i) {
        copy_block(from[i], to[i]);
        upper ? solve_upper(triangles[i], diagonal, to[i]) : solve_lower(triangles[i], diagonal, to[i]);
      }
    });
  });
}

void inv_ex_kernel(const OpCall& call, std::span<Tensor> outs) {
  invert_all(tensor_arg(call, 0), outs[0], outs[1].data<int32_t>());
}

void inv_kernel(const OpCall& call, std::span<Tensor> outs) {
  std::vector<int32_t> infos(static_cast<size_t>(stack_size(outs[0])));
  invert_all(tensor_arg(call, 0), outs[0], infos.data());
  raise_if_singular(call, infos, kNoInverse);
}

void solve_ex_kernel(const OpCall& call, std::span<Tensor> outs) {
  solve_all(tensor_arg(call, 0), tensor_arg(call, 1), outs[0], outs[1].data<int32_t>());
}

void solve_kernel(const OpCall& call, std::span<Tensor> outs) {
  std::vector<int32_t> infos(static_cast<size_t>(stack_size(outs[0])));
  solve_all(tensor_arg(call, 0), tensor_arg(call, 1), outs[0], infos.data());
  raise_if_singular(call, infos, kNoSolution);
}

void cholesky_ex_kernel(const OpCall& call, std::span<Tensor> outs) {
  cholesky_all(tensor_arg(call, 0), outs[0], outs[1].data<int32_t>());
}

void cholesky_kernel(const OpCall& call, std::span<Tensor> outs) {
  std::vector<int32_t> infos(static_cast<size_t>(stack_size(outs[0])));
  cholesky_all(tensor_arg(call, 0), outs[0], infos.data());
  raise_if_not_positive(call, infos);
}

void det_kernel(const OpCall& call, std::span<Tensor> outs) {
  for_determinants(tensor_arg(call, 0),
                   [&]<typename T>(const Lu<T>& lu, int64_t i) { write_determinant(lu, outs[0].data<T>() + i); });
}

void slogdet_kernel(const OpCall& call, std::span<Tensor> outs) {
  for_determinants(tensor_arg(call, 0), [&]<typename T>(const Lu<T>& lu, int64_t i) {
    write_logarithm(lu, outs[0].data<T>() + i, outs[1].data<T>() + i);
  });
}

void qr_kernel(const OpCall& call, std::span<Tensor> outs) {
  const Tensor* q = arg_as<std::string>(call, 1) == "r" ? nullptr : &outs[0];
  outs[1]->dtype() == DType::float64 ? factor_qr<double>(tensor_arg(call, 0), q, outs[1])
                                     : factor_qr<float>(tensor_arg(call, 0), q, outs[1]);
}

void lstsq_kernel(const OpCall& call, std::span<Tensor> outs) {
  bool has_elements = tensor_arg(call, 0)->numel() > 0 && outs[0]->numel() > 0;
  bool is_solved = has_elements && (outs[0]->dtype() == DType::float64 ? solve_least_squares<double>(call, outs)
                                                                       : solve_least_squares<float>(call, outs));
  if (!is_solved) numpy_kernel(call, outs);
}

}  // namespace md
