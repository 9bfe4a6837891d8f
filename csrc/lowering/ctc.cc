// Connectionist temporal classification: the forward and backward recurrences over time.
#include <c10/util/Exception.h>

#include "lowering/families.h"
#include "lowering/indexing.h"
#include "lowering/matrices.h"

namespace torch_tpu::lowering {
namespace {

// What both directions read. N sequences of T steps over C classes; S = 2 L + 1 states: blanks
// with the labels between them.
struct Lattice {
  int64_t steps, batch, states;
  Value input_lengths, last_state;  // int64 [N, 1]; the last state is 2 * target length
  Value labels;                     // int64 [N, S]
  Value emissions;                  // [T, N, S]: log probability of each state's label
  Value skips;                      // bool [N, S]: the state two before has another label
};

Value ColumnOf(Builder& b, Value table, int64_t i) {
  return b.Reshape(b.SliceDim(table, 0, i, i + 1), {table.dim(1), 1});
}

Value States(Builder& b, const Lattice& l) { return b.Iota(DType::Long, {l.batch, l.states}, 1); }

// `by` > 0: x[n, s - by], `fill` before the first state; `by` < 0: x[n, s - by] from behind.
Value Shifted(Builder& b, Value x, int64_t by, Value fill) {
  const int64_t n = x.dim(1), k = std::min(n, std::abs(by));
  return by > 0 ? b.Pad(b.SliceDim(x, 1, 0, n - k), fill, {0, k}, {0, 0})
                : b.Pad(b.SliceDim(x, 1, k, n), fill, {0, 0}, {0, k});
}

// `table` int64 [3, N]: input lengths, target lengths, where each sequence's targets start.
Lattice MakeLattice(Builder& b, Value log_probs, Value targets, Value table, int64_t longest,
                    int64_t blank) {
  Lattice l;
  l.steps = log_probs.dim(0);
  l.batch = log_probs.dim(1);
  l.states = 2 * longest + 1;
  l.input_lengths = ColumnOf(b, table, 0);
  l.last_state = ColumnOf(b, table, 1) * 2.0;
  const Dims dims = {l.batch, l.states};
  const Value state = States(b, l), blanks = b.Constant(DType::Long, blank, dims);
  l.labels = blanks;
  if (targets.numel() > 0 && longest > 0) {
    const Value place =
        b.Broadcast(ColumnOf(b, table, 2), dims) + b.Div(state, b.ConstantLike(state, 2));
    const Value safe = b.Min(place, b.ConstantLike(place, targets.numel() - 1));
    const Value taken = TakeAlong(b, b.Convert(targets, DType::Long), 0, safe);
    const Value odd = b.Eq(b.Rem(state, b.ConstantLike(state, 2)), b.ConstantLike(state, 1));
    l.labels = b.Select(odd, taken, blanks);
  }
  const Dims every = {l.steps, l.batch, l.states};
  l.emissions = GatherAlong(b, log_probs, 2, b.BroadcastInDim(l.labels, every, {1, 2}));
  l.skips = b.Ne(l.labels, Shifted(b, l.labels, 2, b.Constant(DType::Long, blank)));
  return l;
}

Value LogSumExp(Builder& b, const Values& terms) {
  Value most = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) most = b.Max(most, terms[i]);
  most = b.Select(b.Eq(most, b.Infinity(most.dtype(), true, most.dims())), b.ConstantLike(most, 0),
                  most);
  Value sum = b.Exp(terms[0] - most);
  for (size_t i = 1; i < terms.size(); ++i) sum = sum + b.Exp(terms[i] - most);
  return b.Log(sum) + most;
}

// The recurrence over `l.steps`, forwards or backwards: [T, N, S], minus infinity where no path
// leads.
Value Paths(Builder& b, const Lattice& l, bool forward) {
  const DType type = l.emissions.dtype();
  const Dims dims = {l.batch, l.states}, every = l.emissions.dims();
  const Value nothing = b.Infinity(type, true), never = b.Infinity(type, true, dims);
  const Value zero = b.Constant(DType::Long, 0);
  // Backwards, a state is skipped from where its successor's successor may skip it.
  const Value skips = forward ? l.skips : Shifted(b, l.skips, -2, b.Constant(DType::Bool, false));
  const Value state = States(b, l), last = b.Broadcast(l.last_state, dims);
  const Value starts = b.And(
      forward ? b.Le(state, b.ConstantLike(state, 1)) : b.Ge(state, last - 1.0), b.Le(state, last));
  const Value lengths = b.Broadcast(l.input_lengths, dims);
  const Values out = b.While(
      {zero, never, b.Broadcast(nothing, every), l.emissions, skips, starts, lengths},
      [steps = l.steps](Builder& b, ValueRef s) -> Values {
        return {b.Lt(s[0], b.ConstantLike(s[0], steps))};
      },
      [&](Builder& b, ValueRef s) -> Values {
        const Value last_step = b.Constant(DType::Long, l.steps - 1);
        const Value t = forward ? s[0] : last_step - s[0], zero = b.ConstantLike(t, 0);
        const Value emitted =
            b.Reshape(b.DynamicSlice(s[3], {t, zero, zero}, {1, l.batch, l.states}), dims);
        const Value nothing = b.Infinity(type, true), never = b.Infinity(type, true, dims);
        const int64_t one = forward ? 1 : -1;
        const Value moved =
            LogSumExp(b, {s[1], Shifted(b, s[1], one, nothing),
                          b.Select(s[4], Shifted(b, s[1], 2 * one, nothing), never)});
        const Value at = b.Broadcast(t, dims);
        const Value first = forward ? b.Eq(at, b.ConstantLike(at, 0)) : b.Eq(at, s[6] - 1.0);
        const Value from = b.Select(first, b.Select(s[5], b.ConstantLike(moved, 0), never), moved);
        const Value now = b.Select(b.Lt(at, s[6]), from + emitted, never);
        const Value all =
            b.DynamicUpdateSlice(s[2], b.Reshape(now, {1, l.batch, l.states}), {t, zero, zero});
        return {s[0] + 1, now, all, s[3], s[4], s[5], s[6]};
      });
  return out[2];
}

void CheckLogProbs(const OpCall& call, Value log_probs) {
  CheckDtype(call.name(), log_probs.dtype(), Accept::kFloat);
  TORCH_CHECK_NOT_IMPLEMENTED(AccumulateType(log_probs.dtype()) == log_probs.dtype(), call.name(),
                              ": expected float32 or float64 log probabilities, got ",
                              DTypeName(log_probs.dtype()));
}

// tpu::ctc_loss(Tensor log_probs, Tensor targets, Tensor lengths, int longest, int blank)
//     -> (Tensor negative_log_likelihood, Tensor log_alpha)
// `targets` flat; `lengths` as in MakeLattice; `longest` target's length.
Values CtcLoss(Builder& b, const OpCall& call) {
  const Value log_probs = call.Tensor(0);
  CheckLogProbs(call, log_probs);
  const DType type = log_probs.dtype();
  const int64_t steps = log_probs.dim(0), batch = log_probs.dim(1), longest = call.Int(3);
  const Dims dims = {batch, 2 * longest + 1};
  const Value targets_missing =
      b.Gt(b.SliceDim(call.Tensor(2), 0, 1, 2), b.Constant(DType::Long, 0, {1, batch}));
  // No step at all says nothing, in the only way there is.
  const Value of_no_step = b.Reshape(b.Select(targets_missing, b.Infinity(type, false, {1, batch}),
                                              b.Constant(type, 0, {1, batch})),
                                     {batch});
  if (steps == 0 || batch == 0) return {of_no_step, Zeros(b, type, {batch, steps, dims[1]})};
  const Lattice l = MakeLattice(b, log_probs, call.Tensor(1), call.Tensor(2), longest, call.Int(4));
  const Value alpha = b.Transpose(Paths(b, l, /*forward=*/true), {1, 0, 2});
  const Value end = b.Max(l.input_lengths - 1.0, b.ConstantLike(l.input_lengths, 0));
  const Value at_end =
      b.Reshape(GatherAlong(b, alpha, 1, b.BroadcastInDim(end, {batch, 1, dims[1]}, {0, 1})), dims);
  const Value state = States(b, l), last = b.Broadcast(l.last_state, dims);
  const Value final = b.And(b.Ge(state, last - 1.0), b.Le(state, last));
  const Value kept = b.Select(final, at_end, b.Infinity(type, true, dims));
  const Value most = MaxOver(b, kept, {1});
  const Value safe = b.Select(b.IsFinite(most), most, b.ConstantLike(most, 0));
  const Value sum = Sum(b, b.Exp(kept - b.BroadcastInDim(safe, dims, {0})), {1});
  const Value empty = b.Reshape(b.Eq(l.input_lengths, b.ConstantLike(l.input_lengths, 0)), {batch});
  return {b.Select(empty, of_no_step, -(b.Log(sum) + safe)), alpha};
}

// tpu::ctc_loss_backward(Tensor grad, Tensor log_probs, Tensor targets, Tensor lengths,
//     Tensor negative_log_likelihood, Tensor log_alpha, int longest, int blank,
//     bool zero_infinity) -> Tensor
Value CtcLossBackward(Builder& b, const OpCall& call) {
  const Value log_probs = call.Tensor(1);
  CheckLogProbs(call, log_probs);
  const Dims dims = log_probs.dims();
  if (log_probs.numel() == 0) return Zeros(b, log_probs.dtype(), dims);
  const Lattice l =
      MakeLattice(b, log_probs, call.Tensor(2), call.Tensor(3), call.Int(6), call.Int(7));
  const auto over = [&](Value of_batch, const Dims& all) {
    return b.BroadcastInDim(b.Reshape(of_batch, {l.batch}), all, {1});
  };
  const Value beta = Paths(b, l, /*forward=*/false);
  const Value alpha = b.Transpose(call.Tensor(5), {1, 0, 2}), loss = call.Tensor(4);
  const Dims every = l.emissions.dims();
  // Both recurrences count the emission at t. What is impossible has no probability.
  const Value path = alpha + beta - l.emissions;
  const Value possible = b.And(b.Gt(alpha, b.Infinity(alpha.dtype(), true, every)),
                               b.Gt(beta, b.Infinity(beta.dtype(), true, every)));
  const Value share = b.Select(possible, b.Exp(path + over(loss, every)), b.ConstantLike(path, 0));
  const Value index = b.BroadcastInDim(l.labels, every, {1, 2});
  const Value shares =
      ScatterAlong(b, Zeros(b, log_probs.dtype(), dims), 2, index, share, Combine::kSum);
  Value grad = (b.Exp(log_probs) - shares) * over(call.Tensor(0), dims);
  const Value zero = b.ConstantLike(grad, 0);
  const Value infinite = b.Eq(over(loss, dims), b.Infinity(grad.dtype(), false, dims));
  grad = b.Select(infinite, call.Bool(8) ? zero : b.NaN(grad.dtype(), dims), grad);
  const Value step = b.Iota(DType::Long, dims, 0);
  return b.Select(b.Lt(step, over(l.input_lengths, dims)), grad, zero);
}

}  // namespace

OpRows CtcRows() {
  return {{"tpu::ctc_loss", CtcLoss}, {"tpu::ctc_loss_backward", CtcLossBackward}};
}

}  // namespace torch_tpu::lowering
