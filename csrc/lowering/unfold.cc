// Windows as columns and back, and reorderings of pixels and channels.
#include <c10/util/Exception.h>

#include <algorithm>

#include "lowering/families.h"
#include "lowering/taps.h"

namespace torch_tpu::lowering {
namespace {

struct Columns {
  Dims kernel, dilation, padding, stride, out;  // out: window positions
};

Columns ReadColumns(const OpCall& call, int first, const Dims& image) {
  Columns c = {call.IntsOfSize(first, 2),
               call.IntsOfSize(first + 1, 2),
               call.IntsOfSize(first + 2, 2),
               call.IntsOfSize(first + 3, 2),
               {}};
  for (size_t i = 0; i < 2; ++i) {
    TORCH_CHECK(c.kernel[i] > 0, call.name(), ": kernel size should be greater than zero, but got ",
                ToString(c.kernel));
    TORCH_CHECK(c.dilation[i] > 0, call.name(), ": dilation should be greater than zero, but got ",
                ToString(c.dilation));
    TORCH_CHECK(c.padding[i] >= 0, call.name(), ": padding should be non-negative, but got ",
                ToString(c.padding));
    TORCH_CHECK(c.stride[i] > 0, call.name(), ": stride should be greater than zero, but got ",
                ToString(c.stride));
    const int64_t room = image[i] + 2 * c.padding[i] - c.dilation[i] * (c.kernel[i] - 1) - 1;
    c.out.push_back(room < 0 ? 0 : room / c.stride[i] + 1);
    TORCH_CHECK(c.out[i] > 0, call.name(), ": Given input with spatial size ", ToString(image),
                ", kernel_size=", ToString(c.kernel), ", dilation=", ToString(c.dilation),
                ", padding=", ToString(c.padding),
                ", calculated shape of the array of sliding "
                "blocks as ",
                c.out[i], " at dimension ", i,
                ", but its components must be at "
                "least one.");
  }
  return c;
}

// aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride)
//     -> Tensor
Value Im2Col(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0);
  const bool batched = x.rank() == 4;
  TORCH_CHECK((x.rank() == 3 || batched) && x.dim(-1) > 0 && x.dim(-2) > 0 && x.dim(-3) > 0,
              call.name(),
              ": Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and "
              "other non-zero dimensions for input, but got: ",
              ToString(x.dims()));
  const Columns c = ReadColumns(call, 1, {x.dim(-2), x.dim(-1)});
  const int64_t n = batched ? x.dim(0) : 1, channels = x.dim(-3);
  Dims dims = {n, channels * c.kernel[0] * c.kernel[1], c.out[0] * c.out[1]};
  Value y;
  if (NumElements(dims) == 0) {
    y = b.Constant(x.dtype(), 0, dims);
  } else {
    y = b.Pad(b.Reshape(x, {n, channels, x.dim(-2), x.dim(-1)}), b.Constant(x.dtype(), 0),
              {0, 0, c.padding[0], c.padding[1]}, {0, 0, c.padding[0], c.padding[1]});
    for (int64_t d = 0; d < 2; ++d) {  // [.., size, ..] -> [.., kernel * out, ..]
      Dims index;
      for (int64_t k = 0; k < c.kernel[d]; ++k) {
        for (int64_t o = 0; o < c.out[d]; ++o) {
          index.push_back(k * c.dilation[d] + o * c.stride[d]);
        }
      }
      y = Take(b, y, 2 + d, index);
    }
    y = b.Reshape(y, {n, channels, c.kernel[0], c.out[0], c.kernel[1], c.out[1]});
    y = b.Reshape(b.Transpose(y, {0, 1, 2, 4, 3, 5}), dims);
  }
  return batched ? y : b.Reshape(y, {dims[1], dims[2]});
}

// Adds up windows along one dimension: x has (kernel, out) at dim, dim + 1; the result has `size`
// there, where window o's entry k lands at o * stride + k * dilation - padding.
Value AddWindows(Builder& b, Value x, int64_t dim, int64_t size, int64_t stride, int64_t dilation,
                 int64_t padding) {
  const Value zero = b.Constant(x.dtype(), 0);
  const int64_t out = x.dim(dim + 1);
  Value sum;
  for (int64_t k = 0; k < x.dim(dim); ++k) {
    Dims flat = x.dims();
    flat.erase(flat.begin() + dim);
    const Value entry = b.Reshape(b.SliceDim(x, dim, k, k + 1), flat);
    Dims low(entry.rank(), 0), high(entry.rank(), 0), inner(entry.rank(), 0);
    low[dim] = k * dilation - padding;
    inner[dim] = stride - 1;
    high[dim] = size - low[dim] - ((out - 1) * stride + 1);
    const Value placed = b.Pad(entry, zero, low, high, inner);
    sum = sum.defined() ? sum + placed : placed;
  }
  return sum;
}

// aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation,
//     int[2] padding, int[2] stride) -> Tensor
Value Col2Im(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0);
  const Dims image = call.IntsOfSize(1, 2);
  for (int64_t n : image) {
    TORCH_CHECK(n > 0, call.name(), ": expected positive output_size, got ", ToString(image));
  }
  const Columns c = ReadColumns(call, 2, image);
  const bool batched = x.rank() == 3;
  const int64_t block = c.kernel[0] * c.kernel[1];
  TORCH_CHECK((x.rank() == 2 || batched) && x.dim(-1) > 0 && x.dim(-2) > 0, call.name(),
              ": Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
              "non-zero dimensions for input, but got: ",
              ToString(x.dims()));
  TORCH_CHECK(x.dim(-2) % block == 0, call.name(), ": Expected size of input's dimension ",
              x.rank() - 2, " to be divisible by the product of kernel_size, but got input.size(",
              x.rank() - 2, ")=", x.dim(-2), " and kernel_size=", ToString(c.kernel));
  TORCH_CHECK(x.dim(-1) == c.out[0] * c.out[1], call.name(),
              ": Given output_size=", ToString(image), ", kernel_size=", ToString(c.kernel),
              ", dilation=", ToString(c.dilation), ", padding=", ToString(c.padding),
              ", stride=", ToString(c.stride), ", expected size of input's dimension ",
              x.rank() - 1, " to match the calculated number of sliding blocks ", c.out[0], " * ",
              c.out[1], " = ", c.out[0] * c.out[1], ", but got input.size(", x.rank() - 1,
              ")=", x.dim(-1));
  const int64_t n = batched ? x.dim(0) : 1, channels = x.dim(-2) / block;
  Dims dims = {n, channels, image[0], image[1]};
  Value y;
  if (x.numel() == 0) {
    y = b.Constant(x.dtype(), 0, dims);
  } else {
    y = b.Reshape(b.Convert(x, AccumulateType(x.dtype())),
                  {n, channels, c.kernel[0], c.kernel[1], c.out[0], c.out[1]});
    y = b.Transpose(y, {0, 1, 2, 4, 3, 5});
    y = AddWindows(b, y, 4, image[1], c.stride[1], c.dilation[1], c.padding[1]);
    y = AddWindows(b, y, 2, image[0], c.stride[0], c.dilation[0], c.padding[0]);
    y = b.Convert(y, x.dtype());
  }
  return batched ? y : b.Reshape(y, {channels, image[0], image[1]});
}

// aten::unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) ->
// Tensor
//
// grad_in has the windows at `dim` and their entries at the end. Entries that lie `step` apart
// belong to the same offset modulo step, so ceil(size / step) shifted copies are added.
Value UnfoldBackward(Builder& b, const OpCall& call) {
  const Value grad = call.Tensor(0);
  const Dims input = call.Ints(1);
  const int64_t rank = static_cast<int64_t>(input.size());
  if (rank == 0) return b.Reshape(grad, {});
  const int64_t dim = call.Dim(2, rank), size = call.Int(3), step = call.Int(4);
  if (grad.numel() == 0 || NumElements(input) == 0) return b.Constant(grad.dtype(), 0, input);
  const int64_t windows = grad.dim(dim), n = input[dim];
  const Value zero = b.Constant(AccumulateType(grad.dtype()), 0);
  Dims order(rank + 1);  // the entries move next to their window
  for (int64_t d = 0; d <= rank; ++d) order[d] = d <= dim ? d : d == dim + 1 ? rank : d - 1;
  Value x = b.Transpose(b.Convert(grad, zero.dtype()), order);
  const int64_t shifts = (size + step - 1) / step;
  Dims low(rank + 1, 0), high(rank + 1, 0);
  high[dim + 1] = shifts * step - size;
  x = b.Pad(x, zero, low, high);
  Value sum;
  for (int64_t j = 0; j < shifts; ++j) {
    Dims merged = input;
    merged[dim] = windows * step;
    const Value part = b.Reshape(b.SliceDim(x, dim + 1, j * step, (j + 1) * step), merged);
    Dims before(rank, 0), after(rank, 0);
    before[dim] = j * step;
    after[dim] = n - j * step - windows * step;
    const Value placed = b.Pad(part, zero, before, after);
    sum = sum.defined() ? sum + placed : placed;
  }
  return b.Convert(sum, grad.dtype());
}

// aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor
Value PixelShuffle(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0);
  const int64_t r = call.Int(1), rank = x.rank();
  TORCH_CHECK(rank >= 3, call.name(),
              " expects input to have at least 3 dimensions, but got input with ", rank,
              " dimension(s)");
  TORCH_CHECK(r > 0, call.name(), " expects a positive upscale_factor, but got ", r);
  const int64_t c = x.dim(-3), h = x.dim(-2), w = x.dim(-1);
  TORCH_CHECK(c % (r * r) == 0, call.name(),
              " expects its input's 'channel' dimension to be "
              "divisible by the square of upscale_factor, but input.size(-3)=",
              c, " is not divisible by ", r * r);
  const int64_t batch = rank - 3;
  Dims split(x.dims().begin(), x.dims().begin() + batch), result = split, order;
  for (int64_t d = 0; d < batch; ++d) order.push_back(d);
  for (int64_t v : {c / (r * r), r, r, h, w}) split.push_back(v);
  for (int64_t v : {0, 3, 1, 4, 2}) order.push_back(batch + v);
  for (int64_t v : {c / (r * r), h * r, w * r}) result.push_back(v);
  return b.Reshape(b.Transpose(b.Reshape(x, split), order), result);
}

// aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor
Value PixelUnshuffle(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0);
  const int64_t r = call.Int(1), rank = x.rank();
  TORCH_CHECK(rank >= 3, call.name(),
              " expects input to have at least 3 dimensions, but got input with ", rank,
              " dimension(s)");
  TORCH_CHECK(r > 0, call.name(), " expects a positive downscale_factor, but got ", r);
  const int64_t c = x.dim(-3), h = x.dim(-2), w = x.dim(-1);
  TORCH_CHECK(h % r == 0, call.name(),
              " expects height to be divisible by downscale_factor, but "
              "input.size(-2)=",
              h, " is not divisible by ", r);
  TORCH_CHECK(w % r == 0, call.name(),
              " expects width to be divisible by downscale_factor, but "
              "input.size(-1)=",
              w, " is not divisible by ", r);
  const int64_t batch = rank - 3;
  Dims split(x.dims().begin(), x.dims().begin() + batch), result = split, order;
  for (int64_t d = 0; d < batch; ++d) order.push_back(d);
  for (int64_t v : {c, h / r, r, w / r, r}) split.push_back(v);
  for (int64_t v : {0, 2, 4, 1, 3}) order.push_back(batch + v);
  for (int64_t v : {c * r * r, h / r, w / r}) result.push_back(v);
  return b.Reshape(b.Transpose(b.Reshape(x, split), order), result);
}

// aten::channel_shuffle(Tensor self, SymInt groups) -> Tensor
Value ChannelShuffle(Builder& b, const OpCall& call) {
  const Value x = call.Tensor(0);
  const int64_t groups = call.Int(1);
  TORCH_CHECK(x.rank() > 2, call.name(), " expects input with > 2 dims, but got input with sizes ",
              ToString(x.dims()));
  TORCH_CHECK(
      groups > 0, call.name(),
      ": Number of groups to divide channels in must be positive. Value of groups:", groups);
  const int64_t c = x.dim(1);
  TORCH_CHECK(c % groups == 0, call.name(),
              ": Number of channels must be divisible by groups. Got ", c, " channels and ", groups,
              " groups.");
  Dims split = {x.dim(0), groups, c / groups}, order = {0, 2, 1};
  for (int64_t d = 2; d < x.rank(); ++d) {
    split.push_back(x.dim(d));
    order.push_back(d + 1);
  }
  return b.Reshape(b.Transpose(b.Reshape(x, split), order), x.dims());
}

}  // namespace

OpRows UnfoldRows() {
  const OpRow::Flags pixels = {.channels_last = 1};
  return {
      {"aten::im2col", Im2Col},
      {"aten::col2im", Col2Im},
      {"aten::unfold_backward", UnfoldBackward},
      {"aten::pixel_shuffle", PixelShuffle, pixels},
      {"aten::pixel_unshuffle", PixelUnshuffle, pixels},
      {"aten::channel_shuffle", ChannelShuffle, pixels},
  };
}

}  // namespace torch_tpu::lowering
