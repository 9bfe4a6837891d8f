// Scaled dot product attention, forward and backward, over whole score matrices.
#include <c10/util/Exception.h>

#include <cmath>
#include <numeric>

#include "lowering/dot.h"
#include "lowering/families.h"
#include "lowering/indexing.h"
#include "lowering/random_stream.h"

namespace torch_tpu::lowering {
namespace {

// query [..., H, L, E], key [..., K, S, E], value [..., K, S, V] with H = K * group: each key head
// serves `group` query heads. Leading dimensions broadcast. Everything is computed on
//   query [n, group * L, E], key [n, S, E], value [n, S, V], scores [n, group * L, S]
// where n counts the key heads of the whole batch, so that no key or value is ever repeated for its
// group.
struct Shape {
  Dims batch;  // of the result: all but the last two dimensions
  Dims kv_batch;
  int64_t n = 1, group = 1, length = 0, keys = 0, features = 0, value_features = 0;

  Dims Queries() const { return {n, group * length, features}; }
  Dims Scores() const { return {n, group * length, keys}; }
  Dims Outputs() const { return {n, group * length, value_features}; }
  Dims With(int64_t rows, int64_t columns) const {
    Dims dims = batch;
    dims.push_back(rows);
    dims.push_back(columns);
    return dims;
  }
  Dims KvWith(int64_t rows, int64_t columns) const {
    Dims dims = kv_batch;
    dims.push_back(rows);
    dims.push_back(columns);
    return dims;
  }
};

Shape ShapeOf(const OpCall& call, Value q, Value k, Value v) {
  const auto fits = [&](bool ok, const char* rule) {
    TORCH_CHECK(ok, call.name(), ": expected ", rule, ", got query ", ToString(q.dims()), ", key ",
                ToString(k.dims()), ", value ", ToString(v.dims()));
  };
  TORCH_CHECK(q.dtype() == k.dtype() && q.dtype() == v.dtype(), call.name(),
              ": expected query, key and value of the same dtype, got ", DTypeName(q.dtype()), ", ",
              DTypeName(k.dtype()), " and ", DTypeName(v.dtype()));
  TORCH_CHECK(IsFloat(q.dtype()), call.name(), ": expected a floating point type, got ",
              DTypeName(q.dtype()));
  const int64_t rank = q.rank();
  fits(rank >= 2 && k.rank() == rank && v.rank() == rank, "operands of the same rank of 2 or more");
  fits(q.dim(-1) == k.dim(-1), "query and key of the same last dimension");
  fits(k.dim(-2) == v.dim(-2), "key and value of the same length");
  Shape s;
  s.length = q.dim(-2);
  s.features = q.dim(-1);
  s.keys = k.dim(-2);
  s.value_features = v.dim(-1);
  const int64_t leading = rank - 2;
  for (int64_t i = 0; i < leading; ++i) {
    const int64_t kd = k.dim(i), vd = v.dim(i);
    fits(kd == vd || kd == 1 || vd == 1, "key and value whose leading dimensions broadcast");
    int64_t kv = kd == 1 ? vd : kd, all = q.dim(i);
    if (i == leading - 1 && kv > 0 && all > 0 && all % kv == 0) {
      s.group = all / kv;
    } else {
      fits(all == kv || all == 1 || kv == 1, "leading dimensions that broadcast");
      all = kv = all == 1 ? kv : all;
    }
    s.batch.push_back(all);
    s.kv_batch.push_back(kv);
  }
  s.n = NumElements(s.kv_batch);
  return s;
}

Value Canonical(Builder& b, Value x, const Dims& full, const Dims& canonical) {
  return b.Reshape(b.Broadcast(x, full), canonical);
}

struct Operands {
  Value q, k, v;
};

Operands CanonicalOperands(Builder& b, const Shape& s, Value q, Value k, Value v) {
  return {Canonical(b, q, s.With(s.length, s.features), s.Queries()),
          Canonical(b, k, s.KvWith(s.keys, s.features), {s.n, s.keys, s.features}),
          Canonical(b, v, s.KvWith(s.keys, s.value_features), {s.n, s.keys, s.value_features})};
}

// scale * q k^T + bias under the causal mask, in the accumulation type.
Value Scores(Builder& b, const OpCall& call, const Shape& s, const Operands& x, Value bias,
             bool causal, Value scale) {
  Value scores = Scaled(b, MatrixProduct(b, x.q, x.k, Side::kPlain, Side::kTransposed), scale);
  const Dims full = s.With(s.length, s.keys);
  if (bias.defined()) {
    const Value wide = ExpandTo(b, call, bias, full, "attn_bias");
    if (IsBool(bias.dtype())) {
      scores = b.Select(b.Reshape(wide, s.Scores()), scores,
                        b.Infinity(scores.dtype(), true, s.Scores()));
    } else {
      scores = scores + b.Reshape(b.Convert(wide, scores.dtype()), s.Scores());
    }
  }
  if (causal) {
    const Dims square = {s.length, s.keys};
    const Value visible = b.Ge(b.Iota(DType::Int, square, 0), b.Iota(DType::Int, square, 1));
    const Value mask =
        b.Reshape(b.BroadcastInDim(visible, {s.n, s.group, s.length, s.keys}, {2, 3}), s.Scores());
    scores = b.Select(mask, scores, b.Infinity(scores.dtype(), true, s.Scores()));
  }
  return scores;
}

Value ScaleOf(Builder& b, const OpCall& call, int i, const Shape& s, DType dtype) {
  return call.NumberOr(b, i, 1.0 / std::sqrt(static_cast<double>(s.features)), dtype);
}

// 1 / (1 - p) where the element is kept, 0 elsewhere.
Value DropoutFactors(Builder& b, Value state, Value p, const Dims& dims) {
  const Value uniform = RandomStream(b, state).Uniform(DType::Float, dims);
  const Value keep = b.Ge(uniform, b.Broadcast(b.Convert(p, DType::Float), dims));
  const Value factor = b.Constant(p.dtype(), 1) / (b.Constant(p.dtype(), 1) - p);
  return b.Select(keep, b.Broadcast(factor, dims), b.Constant(p.dtype(), 0, dims));
}

bool HasDropout(const OpCall& call, int i) {
  const NumberArg& p = call.RawNumber(i);
  return !p.constant || p.constant->toDouble() != 0;
}

Value Half(Builder& b, Value state, int64_t i) {
  return b.BitcastConvert(b.Reshape(b.SliceDim(state, 0, i, i + 1), {}), DType::Long);
}

// aten::_scaled_dot_product_fused_attention_overrideable(Tensor query, Tensor key, Tensor value,
//     Tensor? attn_bias=None, float dropout_p=0., bool is_causal=False,
//     bool return_debug_mask=False, *, float? scale=None)
//     -> (Tensor output, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q,
//         SymInt max_k, Tensor philox_seed, Tensor philox_offset, Tensor debug_attn_mask)
Values Attention(Builder& b, const OpCall& call) {
  const Value q = call.Tensor(0), k = call.Tensor(1), v = call.Tensor(2);
  const Shape s = ShapeOf(call, q, k, v);
  const DType type = q.dtype(), compute = AccumulateType(type);
  const Operands x = CanonicalOperands(b, s, q, k, v);
  const Value scores = Scores(b, call, s, x, call.TensorOrUndefined(3), call.Bool(5),
                              ScaleOf(b, call, 7, s, compute));
  const Dims rows = {s.n, s.group * s.length, 1};
  const Value zero = b.Constant(compute, 0, rows);
  const Value max = MaxOver(b, scores, {2}, true);
  // A row that sees no key has a maximum of -inf; its exponentials must become 0, not NaN.
  const Value shift = b.Select(b.Eq(max, b.Infinity(compute, true, rows)), zero, max);
  const Value weights = b.Exp(scores - b.Broadcast(shift, s.Scores()));
  const Value sum = Sum(b, weights, {2}, true);
  Value used = weights, seed = b.Constant(DType::Long, 0), offset = seed;
  if (HasDropout(call, 4)) {
    const Value state = RandomStream(b, call).state();
    used = used * DropoutFactors(b, state, call.Number(b, 4, compute), s.Scores());
    seed = Half(b, state, 0);
    offset = Half(b, state, 1);
  }
  // Divided after the product: fewer elements.
  const Value product = MatrixProduct(b, b.Convert(used, type), x.v);
  const Value divisor = b.Select(b.Eq(sum, zero), b.ConstantLike(sum, 1), sum);
  const Value out = product / b.Broadcast(divisor, s.Outputs());
  const Value logsumexp = b.Log(sum) + shift;
  Dims row_dims = s.batch;
  row_dims.push_back(s.length);
  return {b.Convert(b.Reshape(out, s.With(s.length, s.value_features)), type),
          b.Reshape(logsumexp, row_dims),
          Value(),
          Value(),
          Value(),
          Value(),
          seed,
          offset,
          Value()};
}

// Sums `grad` over the dimensions along which an operand of shape `dims` was broadcast.
Value SumTo(Builder& b, Value grad, const Dims& dims) {
  Dims over;
  const int64_t extra = grad.rank() - static_cast<int64_t>(dims.size());
  for (int64_t i = 0; i < grad.rank(); ++i) {
    if (i < extra || (dims[i - extra] == 1 && grad.dim(i) != 1)) over.push_back(i);
  }
  return over.empty() ? grad : b.Reshape(Sum(b, grad, over), dims);
}

// aten::_scaled_dot_product_fused_attention_overrideable_backward(Tensor grad_out, Tensor query,
//     Tensor key, Tensor value, Tensor attn_bias, bool[4] grad_input_mask, Tensor out,
//     Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k,
//     float dropout_p, bool is_causal, Tensor philox_seed, Tensor philox_offset, *,
//     float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor grad_value,
//     Tensor grad_attn_bias)
Values AttentionBackward(Builder& b, const OpCall& call) {
  const Value q = call.Tensor(1), k = call.Tensor(2), v = call.Tensor(3);
  const Value bias = call.TensorOrUndefined(4);
  const std::vector<bool> wanted = call.Bools(5);
  const Shape s = ShapeOf(call, q, k, v);
  const DType type = q.dtype(), compute = AccumulateType(type);
  const Operands x = CanonicalOperands(b, s, q, k, v);
  const Value scale = ScaleOf(b, call, 16, s, compute);
  const Value scores = Scores(b, call, s, x, bias, call.Bool(13), scale);
  const Dims rows = {s.n, s.group * s.length, 1};
  const Value logsumexp = b.Reshape(b.Convert(call.Tensor(7), compute), rows);
  const Value unseen = b.Eq(logsumexp, b.Infinity(compute, true, rows));
  const Value shift = b.Select(unseen, b.Constant(compute, 0, rows), logsumexp);
  const Value weights = b.Exp(scores - b.Broadcast(shift, s.Scores()));

  const Value grad = b.Reshape(call.Tensor(0), s.Outputs());
  Value grad_weights = MatrixProduct(b, grad, x.v, Side::kPlain, Side::kTransposed);
  Value used = weights;
  if (HasDropout(call, 12)) {
    const Value state =
        b.Concatenate({b.Reshape(b.BitcastConvert(call.Tensor(14), DType::UInt64), {1}),
                       b.Reshape(b.BitcastConvert(call.Tensor(15), DType::UInt64), {1})},
                      0);
    const Value factors = DropoutFactors(b, state, call.Number(b, 12, compute), s.Scores());
    grad_weights = grad_weights * factors;
    used = used * factors;
  }
  // Equal to the row sums of grad_out * out, but free of the rounding of a low-precision out.
  const Value delta = Sum(b, weights * grad_weights, {2}, true);
  const Value grad_scores = weights * (grad_weights - b.Broadcast(delta, s.Scores()));
  const Value narrow = b.Convert(grad_scores, type);

  Values grads(4);
  if (wanted[0]) {
    const Value g = Scaled(b, MatrixProduct(b, narrow, x.k), scale);
    grads[0] = b.Convert(SumTo(b, b.Reshape(g, s.With(s.length, s.features)), q.dims()), type);
  }
  if (wanted[1]) {
    const Value g = Scaled(b, MatrixProduct(b, narrow, x.q, Side::kTransposed), scale);
    grads[1] = b.Convert(SumTo(b, b.Reshape(g, s.KvWith(s.keys, s.features)), k.dims()), type);
  }
  if (wanted[2]) {
    const Value g = MatrixProduct(b, b.Convert(used, type), grad, Side::kTransposed);
    grads[2] =
        b.Convert(SumTo(b, b.Reshape(g, s.KvWith(s.keys, s.value_features)), v.dims()), type);
  }
  if (wanted[3] && bias.defined()) {
    const Value g = b.Reshape(grad_scores, s.With(s.length, s.keys));
    grads[3] = b.Convert(SumTo(b, g, bias.dims()), bias.dtype());
  }
  return grads;
}

}  // namespace

OpRows AttentionRows() {
  // A scale is a constant of its model, and a dropout of zero leaves its whole branch away.
  return {
      {"aten::_scaled_dot_product_fused_attention_overrideable",
       Attention,
       {.random = true,
        .random_unless_zero = 4,
        .static_numbers = 1u << 7,
        .special_numbers = 1u << 4}},
      {"aten::_scaled_dot_product_fused_attention_overrideable_backward",
       AttentionBackward,
       {.static_numbers = 1u << 16, .special_numbers = 1u << 12}},
  };
}

}  // namespace torch_tpu::lowering
