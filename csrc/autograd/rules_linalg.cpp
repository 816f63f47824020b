// Functions of formulas for decompositions of matrices. Sources: M. Giles, "An extended collection of matrix derivative
// results for forward and reverse mode automatic differentiation" (2008); I. Murray, "Differentiation of the Cholesky
// decomposition" (2016); G. Golub and V. Pereyra, "The differentiation of pseudo-inverses" (1973).
#include <algorithm>

#include "autograd/rule_op.h"
#include "autograd/rules.h"
#include "base/error.h"

namespace md {
namespace {

namespace op = rule_ops;

const RuleOp amax("amax"), argsort("argsort");

Tensor mul_all(const Tensor& a, const Tensor& b, const Tensor& c) { return op::matmul(op::matmul(a, b), c); }
Dim last_size(const Tensor& tensor) { return tensor.spec().sizes[tensor->rank() - 1]; }
Tensor as_row(const Tensor& tensor) { return op::unsqueeze(tensor, whole(-2)); }
Tensor as_column(const Tensor& tensor) { return op::unsqueeze(tensor, whole(-1)); }
Tensor without_diagonal(const Tensor& matrix) { return op::where(diagonal_mask(last_size(matrix)), whole(0), matrix); }

// A sum of terms that may be absent.
class Sum {
 public:
  void add(const Tensor& term) { total_ = total_.defined() ? op::add(total_, term) : term; }
  const Tensor& total() const { return total_; }

 private:
  Tensor total_;
};

// Differences of all pairs, values[j] - values[i], with 1 on the diagonal.
Tensor gaps(const Tensor& values) {
  return op::where(diagonal_mask(last_size(values)), whole(1), op::sub(as_row(values), as_column(values)));
}
Tensor diagonal_matrix(const Tensor& values) {
  return op::where(diagonal_mask(last_size(values)), as_row(values), whole(0));
}
Tensor first(const Tensor& tensor, int64_t dim, Dim count) {
  return op::narrow(tensor, whole(dim), whole(0), Scalar::symbolic(count));
}

Tensor rest_of(const Tensor& tensor, int64_t dim, Dim start, Dim count) {
  return op::narrow(tensor, whole(dim), Scalar::symbolic(start), Scalar::symbolic(count));
}
Tensor adjoint(const Tensor& matrix) { return op::mT(is_complex(matrix->dtype()) ? op::conj(matrix) : matrix); }
// triangle^-H @ side.
Tensor adjoint_solve(const Tensor& triangle, const Tensor& side, bool upper, bool has_ones) {
  return op::linalg_triangular(adjoint(triangle), side, truth(!upper), truth(has_ones));
}
// side @ triangle^-1.
Tensor right_solve(const Tensor& side, const Tensor& triangle, bool upper, bool has_ones) {
  return op::mT(op::linalg_triangular(op::mT(triangle), op::mT(side), truth(!upper), truth(has_ones)));
}
// side @ u^-H for the upper triangle u: of a lower one, as the conjugate of u.
Tensor right_adjoint_solve(const Tensor& side, const Tensor& u) { return right_solve(side, adjoint(u), false, false); }

}  // namespace

namespace rules {

// b @ x.mT, also of vectors.
Arg columns(const DifferentiatedCall& call, RuleArgs args) {
  const Tensor &b = tensor_in(args, 0), &x = tensor_in(args, 1);
  bool is_vector = std::get<Tensor>(call.args[1])->rank() == 1;
  return is_vector ? op::mul(as_column(b), as_row(x)) : op::matmul(b, op::mT(x));
}

// L^-H @ half @ L^-1, made symmetric: half is the lower triangle of L^H @ gradient with half of its diagonal.
Arg cholesky_slope(const DifferentiatedCall&, RuleArgs args) {
  const Tensor& L = tensor_in(args, 1);
  Tensor product = op::matmul(adjoint(L), args[0]);
  Tensor half =
      op::sub(op::tril(product), op::mul(op::where(diagonal_mask(last_size(product)), product, whole(0)), Scalar(0.5)));
  Tensor slope = right_solve(adjoint_solve(L, half, false, false), L, false, false);
  return op::mul(op::add(slope, adjoint(slope)), Scalar(0.5));
}

// With G the gradient of LU, of L below the diagonal and of U above it: P L^-H (tril(L^H G) + triu(G U^H)) U^-H.
Arg lu_slope(const DifferentiatedCall&, RuleArgs args) {
  const Tensor &G = tensor_in(args, 0), &LU = tensor_in(args, 1);
  Dim rows = LU.spec().sizes[LU->rank() - 2], width = last_size(LU);
  bool is_wide = known_less(rows, width), is_tall = known_less(width, rows);
  Dim steps = is_wide ? rows : width;
  auto square = [&](const Tensor& matrix) { return first(first(matrix, -1, steps), -2, steps); };
  Tensor lu = square(LU), g = square(G), mask = diagonal_mask(steps);
  Tensor L = op::where(mask, whole(1), op::tril(lu)), U = op::triu(lu);
  Tensor for_l = op::matmul(adjoint(L), op::tril(g, whole(-1))), for_u = op::matmul(op::triu(g), adjoint(U));
  Tensor beside, below;
  if (is_wide) {
    beside = rest_of(G, -1, rows, width - rows);
    for_l = op::sub(for_l, op::matmul(beside, adjoint(rest_of(LU, -1, rows, width - rows))));
    beside = adjoint_solve(lu, beside, false, true);
  }
  if (is_tall) {
    below = rest_of(G, -2, width, rows - width);
    for_u = op::sub(for_u, op::matmul(adjoint(rest_of(LU, -2, width, rows - width)), below));
    below = right_adjoint_solve(below, lu);
  }
  Tensor middle = op::add(op::tril(for_l, whole(-1)), op::triu(for_u));
  Tensor slope = right_adjoint_solve(adjoint_solve(lu, middle, false, true), lu);
  if (is_wide) slope = op::cat(std::vector<Tensor>{slope, beside}, whole(-1));
  if (is_tall) slope = op::cat(std::vector<Tensor>{slope, below}, whole(-2));
  // Row i of what was decomposed is row order[i] of A.
  Tensor places = argsort(op::linalg_pivot_order(args[2], Scalar::symbolic(rows)), whole(-1));
  return op::gather(slope, whole(-2), op::expand(op::unsqueeze(places, whole(-1)), slope.spec().sizes));
}

Arg triangular_side(const DifferentiatedCall&, RuleArgs args) {
  return adjoint_solve(tensor_in(args, 1), tensor_in(args, 0), truth_in(args, 2), truth_in(args, 3));
}

Arg triangular_slope(const DifferentiatedCall&, RuleArgs args) {
  bool upper = truth_in(args, 2), has_ones = truth_in(args, 3);
  Tensor whole_slope = op::neg(op::matmul(args[0], adjoint(tensor_in(args, 1))));
  return upper ? op::triu(whole_slope, whole(has_ones ? 1 : 0)) : op::tril(whole_slope, whole(has_ones ? -1 : 0));
}

Arg qr_slope(const DifferentiatedCall&, RuleArgs args) {
  const Tensor &Q = tensor_in(args, 2), &R = tensor_in(args, 3);
  const auto& mode = std::get<std::string>(args[4]);
  if (mode == "r")
    raise(ErrorKind::Runtime,
          "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
          "linalg.qr(A, mode='reduced') if you are going to require differentiation through linalg.qr.");
  Dim rows = Q.spec().sizes[Q->rank() - 2], width = last_size(R), height = R.spec().sizes[R->rank() - 2];
  if (mode == "complete" && known_less(width, rows))
    raise(ErrorKind::Runtime, "The QR decomposition is not differentiable when mode='complete' and nrows > ncols");
  bool has_q = has(args, 0), has_r = has(args, 1);
  bool is_wide = known_less(height, width);
  // A wide matrix is [X, Y] with X square: A = Q [U, V], V = Qt Y.
  Tensor U = is_wide ? first(R, -1, height) : R;
  Sum gradient_q;
  if (has_q) gradient_q.add(tensor_in(args, 0));
  Tensor gradient_u, gradient_y;
  if (has_r) {
    gradient_u = is_wide ? first(tensor_in(args, 1), -1, height) : tensor_in(args, 1);
    if (is_wide) {
      Dim rest = width - height;
      Tensor gradient_v = op::narrow(args[1], whole(-1), Scalar::symbolic(height), Scalar::symbolic(rest));
      Tensor V = op::narrow(R, whole(-1), Scalar::symbolic(height), Scalar::symbolic(rest));
      Tensor Y = op::matmul(Q, V);
      gradient_y = op::matmul(Q, gradient_v);
      gradient_q.add(op::matmul(Y, op::mT(gradient_v)));
    }
  }
  Sum inner;
  if (gradient_u.defined()) inner.add(op::matmul(U, op::mT(gradient_u)));
  if (gradient_q.total().defined()) inner.add(op::neg(op::matmul(op::mT(gradient_q.total()), Q)));
  Tensor lower = op::tril(inner.total());
  Tensor symmetric = op::add(lower, op::mT(op::tril(inner.total(), whole(-1))));
  Sum outer;
  if (gradient_q.total().defined()) outer.add(gradient_q.total());
  outer.add(op::matmul(Q, symmetric));
  Tensor slope = op::mT(op::linalg_solve(U, op::mT(outer.total())));
  if (!is_wide) return slope;
  if (!gradient_y.defined())
    gradient_y = zeros_for(slope, [&] {
      DimVec sizes = Q.spec().sizes;
      sizes[Q->rank() - 1] = width - height;
      return sizes;
    }());
  return op::cat(std::vector<Tensor>{slope, gradient_y}, whole(-1));
}

Arg svdvals_slope(const DifferentiatedCall&, RuleArgs args) {
  std::vector<Tensor> parts = op::linalg_svd.all(args[1], std::string("some"));
  return op::matmul(op::mul(parts[0], as_row(tensor_in(args, 0))), parts[2]);
}

Arg svd_slope(const DifferentiatedCall&, RuleArgs args) {
  const Tensor& S = tensor_in(args, 4);
  Dim k = last_size(S);
  Tensor U = first(tensor_in(args, 3), -1, k), Vh = first(tensor_in(args, 5), -2, k);
  bool has_u = has(args, 0), has_v = has(args, 2);
  Sum middle;
  if (has(args, 1)) middle.add(diagonal_matrix(tensor_in(args, 1)));
  Tensor squares = op::mul(S, S);
  auto turned = [&](const Tensor& product) {
    return without_diagonal(op::div(op::sub(product, op::mT(product)), gaps(squares)));
  };
  Tensor gradient_u, gradient_v;
  if (has_u) {
    gradient_u = first(tensor_in(args, 0), -1, k);
    middle.add(op::mul(turned(op::matmul(op::mT(U), gradient_u)), as_row(S)));
  }
  if (has_v) {
    gradient_v = op::mT(first(tensor_in(args, 2), -2, k));
    middle.add(op::mul(as_column(S), turned(op::matmul(Vh, gradient_v))));
  }
  Sum slope;
  if (middle.total().defined()) slope.add(mul_all(U, middle.total(), Vh));
  if (has_u && known_less(k, U.spec().sizes[U->rank() - 2])) {
    Tensor scaled = op::div(gradient_u, as_row(S));
    slope.add(op::matmul(op::sub(scaled, mul_all(U, op::mT(U), scaled)), Vh));
  }
  if (has_v && known_less(k, last_size(Vh))) {
    Tensor scaled = op::div(gradient_v, as_row(S));
    slope.add(op::matmul(U, op::mT(op::sub(scaled, op::matmul(op::mT(Vh), op::matmul(Vh, scaled))))));
  }
  return slope.total().defined() ? Arg(slope.total()) : Arg();
}

Arg eigvalsh_slope(const DifferentiatedCall&, RuleArgs args) {
  Tensor vectors = op::linalg_eigh.all(args[1], args[2]).at(1);
  return op::matmul(op::mul(vectors, as_row(tensor_in(args, 0))), op::mT(vectors));
}

Arg eigh_slope(const DifferentiatedCall&, RuleArgs args) {
  const Tensor &values = tensor_in(args, 2), &vectors = tensor_in(args, 3);
  Sum middle;
  if (has(args, 0)) middle.add(diagonal_matrix(tensor_in(args, 0)));
  if (has(args, 1)) middle.add(without_diagonal(op::div(op::matmul(op::mT(vectors), args[1]), gaps(values))));
  return mul_all(vectors, middle.total(), op::mT(vectors));
}

Arg pseudo_inverse(const DifferentiatedCall&, RuleArgs args) {
  std::vector<Tensor> parts = op::linalg_svd.all(args[0], std::string("some"));
  const Tensor& S = parts[1];
  const DimVec& sizes = sizes_in(args, 0);
  double rows = static_cast<double>(sizes[sizes.size() - 1].value()),
         width = static_cast<double>(sizes[sizes.size() - 2].value());
  double epsilon = S->dtype() == DType::float64 ? 2.220446049250313e-16 : 1.1920928955078125e-07;
  Tensor limit = op::mul(amax(S, DimVec{-1}, truth(true)), Scalar(epsilon * std::max(rows, width)));
  Tensor inverted = op::where(op::gt(S, limit), op::div(Scalar(1.0), S), whole(0));
  return op::matmul(op::mul(op::mT(parts[2]), as_row(inverted)), op::mT(parts[0]));
}

// With respect to A; p is its pseudo-inverse.
Arg lstsq_slope(const DifferentiatedCall&, RuleArgs args) {
  const Tensor &g = tensor_in(args, 0), &A = tensor_in(args, 1), &B = tensor_in(args, 2), &x = tensor_in(args, 3),
               &p = tensor_in(args, 4);
  Tensor pushed = op::matmul(op::mT(p), g);
  Tensor rest = op::sub(B, op::matmul(A, x));
  Tensor first_term = op::neg(op::matmul(pushed, op::mT(x)));
  Tensor second = op::matmul(rest, op::mT(op::matmul(p, pushed)));
  Tensor beyond = op::sub(g, op::matmul(op::mT(A), pushed));
  Tensor third = op::matmul(op::matmul(op::mT(p), x), op::mT(beyond));
  return op::add(op::add(first_term, second), third);
}

}  // namespace rules
}  // namespace md
