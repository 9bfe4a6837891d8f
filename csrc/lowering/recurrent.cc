// The cells that LSTM and GRU modules call at every step.
#include <c10/util/Exception.h>

#include "lowering/combinators.h"
#include "lowering/families.h"

namespace torch_tpu::lowering {
namespace {

// Part `i` of `parts` equal parts along the last dimension of [batch, parts * hidden].
Value Part(Builder& b, Value x, int64_t i, int64_t parts) {
  const int64_t hidden = x.dim(-1) / parts;
  return b.SliceDim(x, 1, i * hidden, (i + 1) * hidden);
}

Value PlusBias(Builder& b, Value gates, Value bias) {
  if (!bias.defined()) return gates;
  return gates + b.Broadcast(b.Convert(bias, gates.dtype()), gates.dims());
}

// The gates in the type they are computed in, [batch, parts * hidden], with their bias.
Value Gates(Builder& b, const OpCall& call, int gates, int bias, int64_t parts) {
  const Value x = call.Tensor(gates);
  TORCH_CHECK(x.rank() == 2 && x.dim(1) % parts == 0, call.name(),
              ": expected gates of shape [batch, ", parts, " * hidden], got ", ToString(x.dims()));
  return PlusBias(b, b.Convert(x, AccumulateType(x.dtype())), call.TensorOrUndefined(bias));
}

// aten::_thnn_fused_lstm_cell(Tensor input_gates, Tensor hidden_gates, Tensor cx,
//     Tensor? input_bias=None, Tensor? hidden_bias=None) -> (Tensor hy, Tensor cy, Tensor
//     workspace)
// The workspace keeps the activated gates i, f, g, o.
Values LstmCell(Builder& b, const OpCall& call) {
  const Value gates = Gates(b, call, 0, 3, 4) + Gates(b, call, 1, 4, 4);
  const DType type = call.Tensor(0).dtype();
  const Value cx = b.Convert(call.Tensor(2), gates.dtype());
  const Value i = b.Sigmoid(Part(b, gates, 0, 4)), f = b.Sigmoid(Part(b, gates, 1, 4));
  const Value g = b.Tanh(Part(b, gates, 2, 4)), o = b.Sigmoid(Part(b, gates, 3, 4));
  const Value cy = f * cx + i * g;
  const Value hy = o * b.Tanh(cy);
  return {b.Convert(hy, type), b.Convert(cy, type),
          b.Convert(b.Concatenate({i, f, g, o}, 1), type)};
}

// aten::_thnn_fused_lstm_cell_backward_impl(Tensor? grad_hy, Tensor? grad_cy, Tensor cx, Tensor cy,
//     Tensor workspace, bool has_bias) -> (Tensor grad_gates, Tensor grad_cx, Tensor grad_bias)
Values LstmCellBackward(Builder& b, const OpCall& call) {
  if (call.IsNone(0) && call.IsNone(1)) return {Value(), Value(), Value()};
  const Value workspace = call.Tensor(4);
  const DType type = workspace.dtype(), compute = AccumulateType(type);
  auto wide = [&](Value x) { return b.Convert(x, compute); };
  const Value cx = wide(call.Tensor(2)), tanh_cy = b.Tanh(wide(call.Tensor(3)));
  auto grad = [&](int i) { return call.IsNone(i) ? b.ConstantLike(cx, 0) : wide(call.Tensor(i)); };
  const Value i = wide(Part(b, workspace, 0, 4)), f = wide(Part(b, workspace, 1, 4));
  const Value g = wide(Part(b, workspace, 2, 4)), o = wide(Part(b, workspace, 3, 4));
  const Value grad_hy = grad(0);
  const Value grad_cell = grad_hy * o * (1 - tanh_cy * tanh_cy) + grad(1);
  const Value grad_gates =
      b.Concatenate({grad_cell * g * i * (1 - i), grad_cell * cx * f * (1 - f),
                     grad_cell * i * (1 - g * g), grad_hy * tanh_cy * o * (1 - o)},
                    1);
  const Value bias = call.Bool(5) ? b.Convert(Sum(b, grad_gates, {0}), type) : Value();
  return {b.Convert(grad_gates, type), b.Convert(grad_cell * f, type), bias};
}

// aten::_thnn_fused_gru_cell(Tensor input_gates, Tensor hidden_gates, Tensor hx,
//     Tensor? input_bias=None, Tensor? hidden_bias=None) -> (Tensor hy, Tensor workspace)
// The workspace keeps reset, update and new gates, hx, and the hidden part of the new gate.
Values GruCell(Builder& b, const OpCall& call) {
  const Value input = Gates(b, call, 0, 3, 3), hidden = Gates(b, call, 1, 4, 3);
  const DType type = call.Tensor(0).dtype();
  const Value hx = b.Convert(call.Tensor(2), input.dtype());
  const Value reset = b.Sigmoid(Part(b, input, 0, 3) + Part(b, hidden, 0, 3));
  const Value update = b.Sigmoid(Part(b, input, 1, 3) + Part(b, hidden, 1, 3));
  const Value hidden_new = Part(b, hidden, 2, 3);
  const Value fresh = b.Tanh(Part(b, input, 2, 3) + reset * hidden_new);
  const Value hy = fresh + update * (hx - fresh);
  return {b.Convert(hy, type),
          b.Convert(b.Concatenate({reset, update, fresh, hx, hidden_new}, 1), type)};
}

// aten::_thnn_fused_gru_cell_backward(Tensor grad_hy, Tensor workspace, bool has_bias)
//     -> (Tensor grad_input_gates, Tensor grad_hidden_gates, Tensor grad_hx,
//         Tensor grad_input_bias, Tensor grad_hidden_bias)
Values GruCellBackward(Builder& b, const OpCall& call) {
  const Value workspace = call.Tensor(1);
  const DType type = workspace.dtype(), compute = AccumulateType(type);
  const Value grad = b.Convert(call.Tensor(0), compute);
  auto part = [&](int64_t i) { return b.Convert(Part(b, workspace, i, 5), compute); };
  const Value reset = part(0), update = part(1), fresh = part(2), hx = part(3),
              hidden_new = part(4);
  const Value grad_update = grad * (hx - fresh) * (1 - update) * update;
  const Value grad_new = grad * (1 - update) * (1 - fresh * fresh);
  const Value grad_reset = grad_new * hidden_new * (1 - reset) * reset;
  const Value grad_input = b.Concatenate({grad_reset, grad_update, grad_new}, 1);
  const Value grad_hidden = b.Concatenate({grad_reset, grad_update, grad_new * reset}, 1);
  auto bias = [&](Value x) { return call.Bool(2) ? b.Convert(Sum(b, x, {0}), type) : Value(); };
  return {b.Convert(grad_input, type), b.Convert(grad_hidden, type), b.Convert(grad * update, type),
          bias(grad_input), bias(grad_hidden)};
}

}  // namespace

OpRows RecurrentRows() {
  return {
      {"aten::_thnn_fused_lstm_cell", LstmCell},
      {"aten::_thnn_fused_lstm_cell_backward_impl", LstmCellBackward},
      {"aten::_thnn_fused_gru_cell", GruCell},
      {"aten::_thnn_fused_gru_cell_backward", GruCellBackward},
  };
}

}  // namespace torch_tpu::lowering
