#include "distributed/process_group.h"

#include <c10/util/Exception.h>

#include <numeric>

#include "distributed/exchange.h"
#include "eager/guard.h"
#include "eager/storage.h"

namespace torch_tpu::distributed {
namespace {

using c10d::OpType;
using Milliseconds = std::chrono::milliseconds;

c10::Device DeviceOf(const Tensors& tensors) {
  if (!tensors.empty()) return tensors[0].device();
  return {c10::DeviceType::PrivateUse1, static_cast<c10::DeviceIndex>(eager::CurrentDevice())};
}

const at::Tensor& Only(const Tensors& tensors, const char* name) {
  TORCH_CHECK_VALUE(tensors.size() == 1, name, ": expected one tensor for the device, got ",
                    tensors.size());
  return tensors[0];
}

// All on tpu, of one dtype, none sparse.
void CheckTensors(const char* name, std::initializer_list<c10::ArrayRef<at::Tensor>> lists) {
  const at::Tensor* first = nullptr;
  for (const auto& list : lists) {
    for (const at::Tensor& tensor : list) {
      TORCH_CHECK_VALUE(tensor.layout() == c10::kStrided, name, ": expected dense tensors, got ",
                        tensor.layout());
      TORCH_CHECK_VALUE(eager::OnDevice(tensor), name, ": expected tensors on tpu, got one on ",
                        tensor.device(),
                        ". For both kinds use the backend 'cpu:gloo,tpu:tpu_dist'");
      if (first == nullptr) first = &tensor;
      TORCH_CHECK_TYPE(tensor.scalar_type() == first->scalar_type(), name,
                       ": expected tensors of one dtype, got ", DTypeName(first->scalar_type()),
                       " and ", DTypeName(tensor.scalar_type()));
    }
  }
}

void CheckCount(const char* name, const char* what, size_t expected, size_t got) {
  TORCH_CHECK_VALUE(got == expected, name, ": expected ", expected, " ", what, ", got ", got);
}

// Whether `small`, `size` times, is `big`.
void CheckGathered(const char* name, const at::Tensor& big, const at::Tensor& small, int size) {
  TORCH_CHECK_VALUE(big.numel() == small.numel() * size, name, ": expected ", size, " times ",
                    small.numel(), " elements in the gathered tensor, got ", big.numel());
}

std::string Describe(const Tensors& tensors, bool with_sizes = true) {
  std::string text;
  for (const at::Tensor& tensor : tensors) {
    text += std::string(text.empty() ? "" : ", ") + DTypeName(tensor.scalar_type());
    if (with_sizes) text += ToString(tensor.sizes());
  }
  return text;
}

std::string FromRank(int64_t rank) {
  return "from rank " + std::to_string(rank) + " of the group, ";
}

// The pieces of a host tensor along its first dimension; empty `splits`: equal ones.
Tensors Split(const at::Tensor& tensor, std::vector<int64_t> splits, int size) {
  if (splits.empty()) splits.assign(size, tensor.size(0) / size);
  return tensor.split_with_sizes(splits, 0);
}

void CheckSplits(const at::Tensor& tensor, const std::vector<int64_t>& splits, int size,
                 const char* what) {
  TORCH_CHECK_VALUE(tensor.dim() > 0,
                    "all_to_all_single: expected tensors with a dimension, got a "
                    "scalar");
  if (splits.empty()) {
    TORCH_CHECK_VALUE(tensor.size(0) % size == 0,
                      "all_to_all_single: expected the first dimension "
                      "of the ",
                      what, " to be a multiple of ", size,
                      " where no split sizes are "
                      "given, got ",
                      tensor.size(0));
    return;
  }
  CheckCount("all_to_all_single", "split sizes", size, splits.size());
  const int64_t sum = std::accumulate(splits.begin(), splits.end(), int64_t{0});
  TORCH_CHECK_VALUE(sum == tensor.size(0), "all_to_all_single: expected ", what,
                    " split sizes that sum to ", tensor.size(0), ", got a sum of ", sum);
}

}  // namespace

ProcessGroupTpu::ProcessGroupTpu(int rank, int size, c10::intrusive_ptr<c10d::Store> store,
                                 c10::intrusive_ptr<c10d::Backend> gloo,
                                 std::vector<int64_t> global_ranks,
                                 c10::intrusive_ptr<Options> options, bool check_calls)
    : c10d::Backend(rank, size),
      options_(std::move(options)),
      gloo_(std::move(gloo)),
      global_ranks_(std::move(global_ranks)),
      check_calls_(check_calls) {
  if (global_ranks_.empty()) {
    global_ranks_.resize(size);
    std::iota(global_ranks_.begin(), global_ranks_.end(), 0);
  }
  if (gloo_ != nullptr) {
    group_ = std::make_shared<Group>(gloo_, std::move(store), global_ranks_, check_calls_);
  }
}

void ProcessGroupTpu::setTimeout(Milliseconds timeout) {
  options_->timeout = timeout;
  if (gloo_ != nullptr) gloo_->setTimeout(timeout);
}

void ProcessGroupTpu::startCoalescing() { coalesced_.emplace(); }

WorkRef ProcessGroupTpu::endCoalescing() {
  TORCH_CHECK(coalesced_, "endCoalescing: expected startCoalescing before it");
  auto works = std::move(*coalesced_);
  coalesced_.reset();
  return c10::make_intrusive<JoinedWork>(std::move(works));
}

WorkRef ProcessGroupTpu::Coalesce(WorkRef work) {
  if (coalesced_) coalesced_->push_back(work);
  return work;
}

void ProcessGroupTpu::abort() {
  is_aborted_ = true;
  if (group_ != nullptr) group_->Abort("the group was aborted on this rank");
}

c10d::ErrorType ProcessGroupTpu::getError() {
  return is_aborted_ || (group_ != nullptr && group_->IsLost()) ? c10d::ErrorType::COMM_ERROR
                                                                : c10d::ErrorType::SUCCESS;
}

WorkRef ProcessGroupTpu::Start(
    Group::Call call, Milliseconds timeout,
    std::function<void(Group&, const Tensors&, const Tensors&, Milliseconds)> body) {
  ++number_;
  if (timeout == c10d::kUnsetTimeout) timeout = options_->timeout;
  if (group_ != nullptr) {
    return Coalesce(
        group_->Collective(call, [group = group_.get(), timeout, body = std::move(body)](
                                     const Tensors& inputs, const Tensors& outputs) {
          body(*group, inputs, outputs, timeout);
        }));
  }
  TORCH_CHECK(!is_aborted_, call.name, ": expected a group in use, got one that was aborted");
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (!call.outputs[i].is_same(call.inputs[i])) {
      call.outputs[i].copy_(call.inputs[i].view_as(call.outputs[i]));
    }
  }
  auto work = c10::make_intrusive<CollectiveWork>(rank_, call.type, call.name, call.results,
                                                  call.device, number_);
  work->Finish();
  return Coalesce(work);
}

WorkRef ProcessGroupTpu::broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) {
  const at::Tensor tensor = Only(tensors, "broadcast");
  CheckTensors("broadcast", {tensors});
  const bool is_root = options.rootRank == rank_;
  Group::Call call{OpType::BROADCAST,
                   "broadcast",
                   {},
                   {},
                   tensors,
                   FromRank(options.rootRank) + Describe(tensors),
                   tensor.device()};
  // The root's tensor is not written, so that nobody waits for it there.
  (is_root ? call.inputs : call.outputs) = {tensor};
  return Start(call, options.timeout,
               [root = options.rootRank](Group& group, const Tensors& inputs,
                                         const Tensors& outputs, Milliseconds timeout) {
                 c10d::BroadcastOptions gloo_options;
                 gloo_options.rootRank = root;
                 gloo_options.timeout = timeout;
                 Tensors data = {Bytes(inputs.empty() ? outputs[0] : inputs[0])};
                 if (data[0].numel() > 0) group.gloo().broadcast(data, gloo_options)->wait();
               });
}

WorkRef ProcessGroupTpu::AllReduce(const char* name, const Tensors& tensors,
                                   const c10d::ReduceOp& op, Milliseconds timeout) {
  if (tensors.empty()) return Start({OpType::ALLREDUCE, name, {}, {}, {}, "nothing"}, timeout, {});
  CheckTensors(name, {tensors});
  const Reduction reduction(op, tensors[0].scalar_type(), size_, name);
  if (group_ == nullptr && reduction.scale()) {
    for (const at::Tensor& tensor : tensors) tensor.mul_(*reduction.scale());
  }
  return Start(
      {OpType::ALLREDUCE, name, tensors, tensors, tensors,
       std::string(reduction.name()) + " of " + Describe(tensors), tensors[0].device()},
      timeout,
      [reduction](Group& group, const Tensors& inputs, const Tensors& outputs, Milliseconds limit) {
        distributed::AllReduce(group, reduction, inputs, outputs, limit);
      });
}

WorkRef ProcessGroupTpu::allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) {
  Only(tensors, "all_reduce");
  return AllReduce("all_reduce", tensors, options.reduceOp, options.timeout);
}

WorkRef ProcessGroupTpu::allreduce_coalesced(Tensors& tensors,
                                             const c10d::AllreduceCoalescedOptions& options) {
  return AllReduce("all_reduce_coalesced", tensors, options.reduceOp, options.timeout);
}

WorkRef ProcessGroupTpu::reduce(Tensors& tensors, const c10d::ReduceOptions& options) {
  const at::Tensor tensor = Only(tensors, "reduce");
  CheckTensors("reduce", {tensors});
  const Reduction reduction(options.reduceOp, tensor.scalar_type(), size_, "reduce");
  const bool is_root = options.rootRank == rank_;
  if (group_ == nullptr && reduction.scale()) tensor.mul_(*reduction.scale());
  return Start(
      {OpType::REDUCE, "reduce", tensors, is_root ? tensors : Tensors{}, tensors,
       std::string(reduction.name()) + " to rank " + std::to_string(options.rootRank) +
           " of the group, of " + Describe(tensors),
       tensor.device()},
      options.timeout,
      [reduction, root = options.rootRank, is_root](Group& group, const Tensors& inputs,
                                                    const Tensors& outputs, Milliseconds timeout) {
        if (inputs[0].numel() == 0) return;
        c10d::ReduceOptions gloo_options;
        gloo_options.reduceOp = reduction.gloo_op();
        gloo_options.rootRank = root;
        gloo_options.timeout = timeout;
        Tensors data = {reduction.Load(inputs[0])};
        group.gloo().reduce(data, gloo_options)->wait();
        if (is_root) reduction.Store(outputs[0], data[0]);
      });
}

WorkRef ProcessGroupTpu::allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                                   const c10d::AllgatherOptions& options) {
  const at::Tensor input = Only(inputs, "all_gather");
  CheckCount("all_gather", "output list", 1, outputs.size());
  CheckCount("all_gather", "output tensors", size_, outputs[0].size());
  CheckTensors("all_gather", {inputs, outputs[0]});
  const at::Tensor& own = outputs[0][rank_];
  TORCH_CHECK_VALUE(own.numel() == input.numel(), "all_gather: expected ", input.numel(),
                    " elements in output ", rank_, ", got ", own.numel());
  return Start({OpType::ALLGATHER, "all_gather", inputs, outputs[0], outputs[0],
                Describe(outputs[0]), input.device()},
               options.timeout,
               [](Group& group, const Tensors& ins, const Tensors& outs, Milliseconds timeout) {
                 std::vector<Message> sends, receives;
                 for (int i = 0; i < group.size(); ++i) {
                   sends.push_back({i, ins[0]});
                   receives.push_back({i, outs[i]});
                 }
                 Exchange(group, sends, receives, timeout);
               });
}

WorkRef ProcessGroupTpu::allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                                             const c10d::AllgatherOptions& options) {
  CheckCount("all_gather_coalesced", "input tensors", outputs.empty() ? 0 : outputs[0].size(),
             inputs.size());
  // outputs[rank][i] belongs to inputs[i].
  std::vector<WorkRef> works;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::vector<Tensors> output(1);
    for (const Tensors& of_rank : outputs) output[0].push_back(of_rank.at(i));
    Tensors input = {inputs[i]};
    works.push_back(allgather(output, input, options));
  }
  return c10::make_intrusive<JoinedWork>(std::move(works));
}

WorkRef ProcessGroupTpu::_allgather_base(at::Tensor& output, at::Tensor& input,
                                         const c10d::AllgatherOptions& options) {
  Tensors outputs = {output}, inputs = {input};
  return allgather_into_tensor_coalesced(outputs, inputs, options);
}

WorkRef ProcessGroupTpu::allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                                         const c10d::AllgatherOptions& options) {
  constexpr const char* kName = "all_gather_into_tensor";
  CheckCount(kName, "outputs", inputs.size(), outputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    CheckTensors(kName, {inputs[i], outputs[i]});
    CheckGathered(kName, outputs[i], inputs[i], size_);
  }
  return Start({OpType::_ALLGATHER_BASE, kName, inputs, outputs, outputs, Describe(inputs),
                DeviceOf(inputs)},
               options.timeout,
               [](Group& group, const Tensors& ins, const Tensors& outs, Milliseconds timeout) {
                 c10d::AllgatherOptions gloo_options;
                 gloo_options.timeout = timeout;
                 std::vector<WorkRef> works;
                 for (size_t i = 0; i < ins.size(); ++i) {
                   at::Tensor to = Bytes(outs[i]), from = Bytes(ins[i]);
                   if (from.numel() == 0) continue;
                   works.push_back(group.gloo()._allgather_base(to, from, gloo_options));
                 }
                 for (const WorkRef& work : works) work->wait();
               });
}

WorkRef ProcessGroupTpu::gather(std::vector<Tensors>& outputs, Tensors& inputs,
                                const c10d::GatherOptions& options) {
  const at::Tensor input = Only(inputs, "gather");
  const bool is_root = options.rootRank == rank_;
  CheckCount("gather", is_root ? "output list" : "output lists where this is not the root",
             is_root ? 1 : 0, outputs.size());
  const Tensors list = is_root ? outputs[0] : Tensors{};
  if (is_root) CheckCount("gather", "output tensors", size_, list.size());
  CheckTensors("gather", {inputs, list});
  return Start(
      {OpType::GATHER, "gather", inputs, list, list,
       FromRank(options.rootRank) + Describe(inputs, /*with_sizes=*/false), input.device()},
      options.timeout,
      [root = static_cast<int>(options.rootRank)](Group& group, const Tensors& ins,
                                                  const Tensors& outs, Milliseconds timeout) {
        std::vector<Message> receives;
        for (size_t i = 0; i < outs.size(); ++i) {
          receives.push_back({static_cast<int>(i), outs[i]});
        }
        Exchange(group, Message{root, ins[0]}, receives, timeout);
      });
}

WorkRef ProcessGroupTpu::scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                 const c10d::ScatterOptions& options) {
  const at::Tensor output = Only(outputs, "scatter");
  const bool is_root = options.rootRank == rank_;
  CheckCount("scatter", is_root ? "input list" : "input lists where this is not the root",
             is_root ? 1 : 0, inputs.size());
  const Tensors list = is_root ? inputs[0] : Tensors{};
  if (is_root) CheckCount("scatter", "input tensors", size_, list.size());
  CheckTensors("scatter", {outputs, list});
  return Start(
      {OpType::SCATTER, "scatter", list, outputs, outputs,
       FromRank(options.rootRank) + Describe(outputs, /*with_sizes=*/false), output.device()},
      options.timeout,
      [root = static_cast<int>(options.rootRank)](Group& group, const Tensors& ins,
                                                  const Tensors& outs, Milliseconds timeout) {
        std::vector<Message> sends;
        for (size_t i = 0; i < ins.size(); ++i) {
          sends.push_back({static_cast<int>(i), ins[i]});
        }
        Exchange(group, sends, Message{root, outs[0]}, timeout);
      });
}

WorkRef ProcessGroupTpu::ReduceScatter(const char* name, const Tensors& outputs,
                                       const Tensors& inputs, const c10d::ReduceOp& op,
                                       Milliseconds timeout) {
  // Inputs: for each output either one tensor for each rank, or one of all ranks' elements.
  if (outputs.empty()) {
    return Start({OpType::REDUCE_SCATTER, name, {}, {}, {}, "nothing"}, timeout, {});
  }
  const Reduction reduction(op, outputs[0].scalar_type(), size_, name);
  const bool is_list = inputs.size() != outputs.size();
  if (group_ == nullptr) {
    auto work =
        Start({OpType::REDUCE_SCATTER, name, inputs, outputs, outputs, "", DeviceOf(outputs)},
              timeout, {});
    if (reduction.scale()) {
      for (const at::Tensor& output : outputs) output.mul_(*reduction.scale());
    }
    return work;
  }
  return Start({OpType::REDUCE_SCATTER, name, inputs, outputs, outputs,
                std::string(reduction.name()) + " of " + Describe(inputs), DeviceOf(outputs)},
               timeout,
               [reduction, is_list](Group& group, const Tensors& ins, const Tensors& outs,
                                    Milliseconds limit) {
                 for (size_t i = 0; i < outs.size(); ++i) {
                   const Tensors parts =
                       is_list ? ins : ins[i].reshape({-1}).chunk(group.size(), 0);
                   distributed::ReduceScatter(group, reduction, parts, outs[i], limit);
                 }
               });
}

WorkRef ProcessGroupTpu::reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                        const c10d::ReduceScatterOptions& options) {
  const at::Tensor output = Only(outputs, "reduce_scatter");
  CheckCount("reduce_scatter", "input list", 1, inputs.size());
  CheckCount("reduce_scatter", "input tensors", size_, inputs[0].size());
  CheckTensors("reduce_scatter", {outputs, inputs[0]});
  TORCH_CHECK_VALUE(inputs[0][rank_].numel() == output.numel(), "reduce_scatter: expected ",
                    output.numel(), " elements in input ", rank_, ", got ",
                    inputs[0][rank_].numel());
  return ReduceScatter("reduce_scatter", outputs, inputs[0], options.reduceOp, options.timeout);
}

WorkRef ProcessGroupTpu::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                              const c10d::ReduceScatterOptions& options) {
  Tensors outputs = {output}, inputs = {input};
  return reduce_scatter_tensor_coalesced(outputs, inputs, options);
}

WorkRef ProcessGroupTpu::reduce_scatter_tensor_coalesced(
    Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& options) {
  constexpr const char* kName = "reduce_scatter_tensor";
  CheckCount(kName, "inputs", outputs.size(), inputs.size());
  CheckTensors(kName, {inputs, outputs});
  for (size_t i = 0; i < inputs.size(); ++i) CheckGathered(kName, inputs[i], outputs[i], size_);
  return ReduceScatter(kName, outputs, inputs, options.reduceOp, options.timeout);
}

WorkRef ProcessGroupTpu::alltoall_base(at::Tensor& output, at::Tensor& input,
                                       std::vector<int64_t>& output_splits,
                                       std::vector<int64_t>& input_splits,
                                       const c10d::AllToAllOptions& options) {
  constexpr const char* kName = "all_to_all_single";
  CheckTensors(kName, {input, output});
  CheckSplits(output, output_splits, size_, "output");
  CheckSplits(input, input_splits, size_, "input");
  return Start({OpType::ALLTOALL_BASE,
                kName,
                {input},
                {output},
                {output},
                Describe({input}, /*with_sizes=*/false),
                input.device()},
               options.timeout,
               [output_splits, input_splits](Group& group, const Tensors& ins, const Tensors& outs,
                                             Milliseconds timeout) {
                 const Tensors from = Split(ins[0], input_splits, group.size());
                 const Tensors to = Split(outs[0], output_splits, group.size());
                 std::vector<Message> sends, receives;
                 for (int i = 0; i < group.size(); ++i) {
                   sends.push_back({i, from[i]});
                   receives.push_back({i, to[i]});
                 }
                 Exchange(group, sends, receives, timeout);
               });
}

WorkRef ProcessGroupTpu::alltoall(Tensors& outputs, Tensors& inputs,
                                  const c10d::AllToAllOptions& options) {
  CheckCount("all_to_all", "input tensors", size_, inputs.size());
  CheckCount("all_to_all", "output tensors", size_, outputs.size());
  CheckTensors("all_to_all", {inputs, outputs});
  return Start({OpType::ALLTOALL, "all_to_all", inputs, outputs, outputs,
                Describe({inputs[0]}, /*with_sizes=*/false), DeviceOf(inputs)},
               options.timeout,
               [](Group& group, const Tensors& ins, const Tensors& outs, Milliseconds timeout) {
                 std::vector<Message> sends, receives;
                 for (int i = 0; i < group.size(); ++i) {
                   sends.push_back({i, ins[i]});
                   receives.push_back({i, outs[i]});
                 }
                 Exchange(group, sends, receives, timeout);
               });
}

WorkRef ProcessGroupTpu::send(Tensors& tensors, int to, int tag) {
  const at::Tensor tensor = Only(tensors, "send");
  CheckTensors("send", {tensors});
  TORCH_CHECK_VALUE(to >= 0 && to < size_ && to != rank_,
                    "send: expected another rank of the "
                    "group, got ",
                    to, " on rank ", rank_, " of ", size_);
  return Coalesce(group_->Send(tensor, to, tag));
}

WorkRef ProcessGroupTpu::recv(Tensors& tensors, int from, int tag) {
  const at::Tensor tensor = Only(tensors, "recv");
  CheckTensors("recv", {tensors});
  TORCH_CHECK_VALUE(from >= 0 && from < size_ && from != rank_,
                    "recv: expected another rank of "
                    "the group, got ",
                    from, " on rank ", rank_, " of ", size_);
  return Coalesce(group_->Receive(tensor, from, tag));
}

WorkRef ProcessGroupTpu::recvAnysource(Tensors& tensors, int tag) {
  const at::Tensor tensor = Only(tensors, "recv");
  CheckTensors("recv", {tensors});
  TORCH_CHECK_VALUE(group_ != nullptr, "recv: expected a group of more than one rank");
  return Coalesce(group_->Receive(tensor, -1, tag));
}

WorkRef ProcessGroupTpu::barrier(const c10d::BarrierOptions& options) {
  return Start({OpType::BARRIER, "barrier", {}, {}, {}, ""}, options.timeout,
               [](Group& group, const Tensors&, const Tensors&, Milliseconds timeout) {
                 c10d::BarrierOptions gloo_options;
                 gloo_options.timeout = timeout;
                 group.gloo().barrier(gloo_options)->wait();
               });
}

}  // namespace torch_tpu::distributed
