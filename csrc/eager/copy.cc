#include "eager/copy.h"

#include <ATen/native/Resize.h>
#include <torch/library.h>

#include "eager/overlap.h"
#include "eager/row_call.h"
#include "eager/storage.h"

namespace torch_tpu::eager {
namespace {

// Values without the lazy conjugate and negative bits.
at::Tensor Resolved(const at::Tensor& tensor) {
  at::Tensor t = tensor;
  bool negate = false, conjugate = false;
  if (t.is_neg()) {
    t = t._neg_view();
    negate = true;
  }
  if (t.is_conj()) {
    t = t.conj();
    conjugate = true;
  }
  if (conjugate) t = at::conj_physical(t);
  if (negate) t = at::neg(t);
  return t;
}

// A row-major device tensor that is all of its storage.
at::Tensor Compact(const at::Tensor& tensor) {
  if (IsWholeStorage(tensor)) return tensor;
  return RowCall("tpu::identity", tensor.device().index()).Tensor(tensor).Run()[0];
}

void HostToDevice(const at::Tensor& dst, const at::Tensor& src) {
  const at::Tensor host = Resolved(src).to(dst.scalar_type()).expand(dst.sizes()).contiguous();
  exec::BufferRef buffer =
      exec::Runtime::Get().ToDevice(host.const_data_ptr(), {dst.scalar_type(), Dims(dst.sizes())},
                                    dst.device().index(), std::nullopt, "aten::copy_");
  if (IsWholeStorage(dst)) {
    StorageOf(dst).Store(std::move(buffer));
    return;
  }
  RowCall("tpu::identity", dst.device().index())
      .Tensor(Wrap(std::move(buffer), dst.sizes()))
      .RunInto(dst);
}

// Row-major elements that lie in a small array, or are most of it: that is read as it is, for a
// program that takes a piece out is one for each size. Undefined: not so.
at::Tensor ReadPiece(const at::Tensor& src) {
  constexpr int64_t kSmall = 1 << 16;
  const exec::BufferRef buffer = StorageOf(src).Load();
  if (buffer == nullptr || buffer->type().dtype != src.scalar_type() || !src.is_contiguous() ||
      (buffer->bytes() > kSmall && buffer->bytes() > 2 * static_cast<int64_t>(src.nbytes()))) {
    return {};
  }
  const at::Tensor whole = at::empty(buffer->type().dims, src.options().device(at::kCPU));
  exec::Runtime::Get().ToHost(buffer, whole.mutable_data_ptr(), buffer->bytes());
  return whole.flatten().narrow(0, src.storage_offset(), src.numel()).view(src.sizes());
}

void DeviceToHost(const at::Tensor& dst, const at::Tensor& src) {
  const at::Tensor resolved = Resolved(src);
  if (!IsWholeStorage(resolved)) {
    const at::Tensor piece = ReadPiece(resolved);
    if (piece.defined()) {
      dst.copy_(piece);
      return;
    }
  }
  const at::Tensor device = Compact(resolved);
  exec::BufferRef buffer = StorageOf(device).Load();
  at::Tensor host;
  const bool direct = dst.scalar_type() == device.scalar_type() && dst.is_contiguous() &&
                      dst.sizes() == device.sizes() && !dst.is_conj() && !dst.is_neg();
  host = direct ? dst : at::empty(device.sizes(), device.options().device(at::kCPU));
  if (buffer == nullptr) {
    host.zero_();  // never written on the device
  } else {
    // The storage may hold another element type (view(dtype)); its bytes are what is asked for,
    // except that complex and bool arrays have layouts of their own.
    if (buffer->type().dtype != device.scalar_type()) {
      buffer = StorageOf(RowCall("tpu::identity", device.device().index()).Tensor(device).Run()[0])
                   .Load();
    }
    exec::Runtime::Get().ToHost(buffer, host.mutable_data_ptr(),
                                static_cast<int64_t>(host.nbytes()));
  }
  if (!direct) dst.copy_(host);
}

void WithinDevice(const at::Tensor& dst, const at::Tensor& src) {
  at::Tensor value = Resolved(src);
  if (value.sizes() != dst.sizes()) value = value.expand(dst.sizes());
  // A result that nobody else holds gives its buffer away.
  if (value.use_count() == 1 && value.storage().use_count() == 1 && IsWholeStorage(value) &&
      IsWholeStorage(dst) && value.scalar_type() == dst.scalar_type()) {
    exec::BufferRef buffer = StorageOf(value).Load();
    if (buffer != nullptr && buffer->type().dtype == dst.scalar_type()) {
      StorageOf(dst).Store(std::move(buffer));
      return;
    }
  }
  if (value.scalar_type() == dst.scalar_type()) {
    RowCall("tpu::identity", dst.device().index()).Tensor(value).RunInto(dst);
  } else {
    RowCall("tpu::cast", dst.device().index()).Tensor(value).Dtype(dst.scalar_type()).RunInto(dst);
  }
}

at::Tensor& Copy(at::Tensor& self, const at::Tensor& src, bool non_blocking) {
  CopyInto(self, src, non_blocking);
  return self;
}

at::Tensor CopyFrom(const at::Tensor& self, const at::Tensor& dst, bool non_blocking) {
  CopyInto(dst, self, non_blocking);
  return dst;
}

at::Tensor CopyFromAndResize(const at::Tensor& self, const at::Tensor& dst) {
  if (dst.sizes() != self.sizes()) at::native::resize_output(dst, self.sizes());
  CopyInto(dst, self, /*non_blocking=*/false);
  return dst;
}

at::Scalar LocalScalarDense(const at::Tensor& self) {
  TORCH_CHECK(self.numel() == 1, "a Tensor with ", self.numel(),
              " elements cannot be converted to Scalar");
  at::Tensor host = at::empty(self.sizes(), self.options().device(at::kCPU));
  DeviceToHost(host, self);
  return host.item();
}

}  // namespace

at::Tensor ToOtherDevice(const at::Tensor& tensor, int device) {
  const at::Tensor compact = Compact(Resolved(tensor));
  const exec::BufferRef buffer = StorageOf(compact).Load();
  if (buffer == nullptr) return Empty(tensor.sizes(), tensor.scalar_type(), device);
  at::Tensor copy = Wrap(exec::Runtime::Get().ToOtherDevice(buffer, device), buffer->type().dims);
  if (buffer->type().dtype != tensor.scalar_type()) copy = copy.view(tensor.scalar_type());
  return copy.view(tensor.sizes());
}

void CopyInto(const at::Tensor& dst, const at::Tensor& src, bool non_blocking) {
  if (dst.is_same(src)) return;
  TORCH_CHECK(dst.defined() && src.defined(), "copy_: expected defined tensors");
  if (src._is_zerotensor()) {
    dst.zero_();
    return;
  }
  if (src.sizes() != dst.sizes()) {
    // PyTorch's own message where the shapes do not fit.
    const at::Tensor expanded = src.expand(dst.sizes());
    if (dst.numel() == 0) return;
    if (OnDevice(dst)) CheckOverlap(dst, {src}, /*disjoint=*/false);
    return CopyInto(dst, expanded, non_blocking);
  }
  if (dst.numel() == 0) return;
  if (OnDevice(dst)) CheckOverlap(dst, {src}, /*disjoint=*/false);
  if (dst.is_conj()) return CopyInto(dst.conj(), at::conj_physical(Resolved(src)), non_blocking);
  if (dst.is_neg()) return CopyInto(dst._neg_view(), at::neg(Resolved(src)), non_blocking);
  if (!OnDevice(src)) return HostToDevice(dst, src);
  if (!OnDevice(dst)) return DeviceToHost(dst, src);
  if (src.device() == dst.device()) return WithinDevice(dst, src);
  WithinDevice(dst, ToOtherDevice(src, dst.device().index()));
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("copy_", Copy);
  m.impl("_copy_from", CopyFrom);
  m.impl("_copy_from_and_resize", CopyFromAndResize);
  m.impl("_local_scalar_dense", LocalScalarDense);
}

// Lazy conjugation and negation are resolved inside the copy; PyTorch's fallback would copy for
// ever.
TORCH_LIBRARY_IMPL(aten, Conjugate, m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(aten, Negative, m) {
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());
}

}  // namespace torch_tpu::eager
