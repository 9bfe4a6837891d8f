// Padding of trailing dimensions by a number, by reflection and by replication, and gradients.
// Circular padding is composed of slices by PyTorch itself.
#include <c10/util/Exception.h>

#include <algorithm>

#include "lowering/combinators.h"
#include "lowering/families.h"

namespace torch_tpu::lowering {
namespace {

// aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor
Value ConstantPad(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0);
  const Dims pad = call.Ints(1);
  TORCH_CHECK(pad.size() % 2 == 0, call.name(),
              ": Length of pad must be even but instead it equals ", pad.size());
  const int64_t pairs = static_cast<int64_t>(pad.size()) / 2;
  TORCH_CHECK(pairs <= x.rank(), call.name(),
              ": Length of pad should be no more than twice the number of dimensions of the input. "
              "Pad length is ",
              pad.size(), "while the input has ", x.rank(), "dimensions.");
  Dims low(x.rank(), 0), high(x.rank(), 0);
  for (int64_t i = 0; i < pairs; ++i) {  // pairs run from the last dimension backwards
    const int64_t d = x.rank() - 1 - i;
    low[d] = pad[2 * i];
    high[d] = pad[2 * i + 1];
    TORCH_CHECK(x.dim(d) + low[d] + high[d] >= 0, call.name(), ": The input size ", x.dim(d),
                ", plus negative padding ", low[d], " and ", high[d],
                " resulted in a negative output size, which is invalid. Check dimension ", d,
                " of your input.");
  }
  return b.Pad(x, call.Number(b, 2, x.dtype()), low, high);
}

enum class Border { kReflect, kReplicate };

struct Sides {
  int64_t dim, low, high;
};

// Reads the pairs, last dimension first, and applies PyTorch's rules.
std::vector<Sides> ReadSides(const OpCall& call, const Dims& input, int argument, size_t spatial,
                             Border border) {
  const Dims pad = call.Ints(argument);
  TORCH_CHECK(pad.size() == 2 * spatial, call.name(), ": padding size is expected to be ",
              2 * spatial, ", but got: ", pad.size());
  const int64_t rank = static_cast<int64_t>(input.size()), n = static_cast<int64_t>(spatial);
  bool fits = rank == n + 1 || rank == n + 2;
  for (int64_t i = rank == n + 2 ? 1 : 0; fits && i < rank; ++i) {
    fits = input[i] > 0 || (border == Border::kReplicate && i < rank - n && rank == n + 1);
  }
  TORCH_CHECK(fits, call.name(), ": Expected ", n + 1, "D or ", n + 2,
              "D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
              "input, but got: ",
              ToString(input));
  std::vector<Sides> sides;
  for (int64_t i = 0; i < n; ++i) {
    const Sides s = {rank - 1 - i, pad[2 * i], pad[2 * i + 1]};
    const int64_t size = input[s.dim];
    if (border == Border::kReflect) {
      TORCH_CHECK(s.low < size && s.high < size, call.name(), ": Argument #", 2 * i + 4,
                  ": Padding size should be less than the corresponding "
                  "input dimension, but got: padding (",
                  s.low, ", ", s.high, ") at dimension ", s.dim, " of input ", ToString(input));
    }
    TORCH_CHECK(size + s.low + s.high >= 1, call.name(), ": input (size: ", size, " at dimension ",
                s.dim, ") is too small. Calculated output size: ", size + s.low + s.high);
    sides.push_back(s);
  }
  return sides;
}

// One dimension: the positive sides grow, then the negative ones are cut off.
Value PadOne(Builder& b, Value x, const Sides& s, Border border) {
  const int64_t n = x.dim(s.dim), low = std::max<int64_t>(s.low, 0),
                high = std::max<int64_t>(s.high, 0);
  auto edge = [&](int64_t start, int64_t count) {  // the piece that grows beyond a border
    if (border == Border::kReflect) {
      return b.Reverse(b.SliceDim(x, s.dim, start, start + count), {s.dim});
    }
    Dims dims = x.dims();
    dims[s.dim] = count;
    return b.Broadcast(b.SliceDim(x, s.dim, start, start + 1), dims);
  };
  const bool reflect = border == Border::kReflect;
  Values pieces;
  if (low > 0) pieces.push_back(edge(reflect ? 1 : 0, low));
  pieces.push_back(x);
  if (high > 0) pieces.push_back(edge(reflect ? n - 1 - high : n - 1, high));
  const Value grown = b.Concatenate(pieces, s.dim);
  return b.SliceDim(grown, s.dim, std::max<int64_t>(-s.low, 0),
                    grown.dim(s.dim) - std::max<int64_t>(-s.high, 0));
}

// The adjoint of PadOne for an input of size n along the dimension.
Value FoldOne(Builder& b, Value grad, const Sides& s, int64_t n, Border border) {
  const Value zero = b.Constant(grad.dtype(), 0);
  auto place = [&](Value v, int64_t at, int64_t size) {
    Dims low(v.rank(), 0), high(v.rank(), 0);
    low[s.dim] = at;
    high[s.dim] = size - at - v.dim(s.dim);
    return b.Pad(v, zero, low, high);
  };
  const int64_t low = std::max<int64_t>(s.low, 0), high = std::max<int64_t>(s.high, 0);
  const int64_t size = n + low + high;
  grad = place(grad, std::max<int64_t>(-s.low, 0), size);
  Value sum = b.SliceDim(grad, s.dim, low, low + n);
  auto fold = [&](int64_t start, int64_t count, int64_t at) {
    if (count == 0) return;
    Value piece = b.SliceDim(grad, s.dim, start, start + count);
    piece = border == Border::kReflect ? b.Reverse(piece, {s.dim})
                                       : Sum(b, piece, {s.dim}, /*keep_dims=*/true);
    sum = sum + place(piece, at, n);
  };
  const bool reflect = border == Border::kReflect;
  fold(0, low, reflect ? 1 : 0);
  fold(low + n, high, reflect ? n - 1 - high : n - 1);
  return sum;
}

// aten::reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor
// aten::replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor
template <Border border, size_t spatial>
Value BorderPad(Builder& b, const OpCall& call) {
  Value x = call.Tensor(0);
  const std::vector<Sides> sides = ReadSides(call, x.dims(), 1, spatial, border);
  for (const Sides& s : sides) x = PadOne(b, x, s, border);
  return x;
}

// aten::reflection_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor
// aten::replication_pad2d_backward(Tensor grad_output, Tensor self, SymInt[4] padding) -> Tensor
template <Border border, size_t spatial>
Value BorderPadBackward(Builder& b, const OpCall& call) {
  const Value grad = call.Tensor(0), x = call.Tensor(1);
  const std::vector<Sides> sides = ReadSides(call, x.dims(), 2, spatial, border);
  Dims expected = x.dims();
  for (const Sides& s : sides) expected[s.dim] += s.low + s.high;
  TORCH_CHECK(grad.dims() == expected, call.name(), ": expected grad_output of size ",
              ToString(expected), ", got ", ToString(grad.dims()));
  Value sum = b.Convert(grad, AccumulateType(grad.dtype()));
  for (size_t i = sides.size(); i-- > 0;) {
    sum = FoldOne(b, sum, sides[i], x.dim(sides[i].dim), border);
  }
  return b.Convert(sum, grad.dtype());
}

}  // namespace

OpRows PaddingRows() {
  return {
      {"aten::constant_pad_nd", ConstantPad},
      {"aten::reflection_pad1d", BorderPad<Border::kReflect, 1>},
      {"aten::reflection_pad2d", BorderPad<Border::kReflect, 2>},
      {"aten::reflection_pad3d", BorderPad<Border::kReflect, 3>},
      {"aten::reflection_pad1d_backward", BorderPadBackward<Border::kReflect, 1>},
      {"aten::reflection_pad2d_backward", BorderPadBackward<Border::kReflect, 2>},
      {"aten::reflection_pad3d_backward", BorderPadBackward<Border::kReflect, 3>},
      {"aten::replication_pad1d", BorderPad<Border::kReplicate, 1>},
      {"aten::replication_pad2d", BorderPad<Border::kReplicate, 2>},
      {"aten::replication_pad3d", BorderPad<Border::kReplicate, 3>},
      {"aten::replication_pad1d_backward", BorderPadBackward<Border::kReplicate, 1>},
      {"aten::replication_pad2d_backward", BorderPadBackward<Border::kReplicate, 2>},
      {"aten::replication_pad3d_backward", BorderPadBackward<Border::kReplicate, 3>},
  };
}

}  // namespace torch_tpu::lowering
