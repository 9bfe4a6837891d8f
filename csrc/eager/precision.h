// How exact the ops of the eager modes are: what torch.tpu can switch while a program runs.
#pragma once

#include "exec/program.h"

namespace torch_tpu::eager {

// The innermost torch.tpu.precision() around the call, else torch.set_float32_matmul_precision,
// which calls them medium, high and highest.
hlo::Precision GetMatmulPrecision();

// Sets the override of this thread and of the backward passes that it starts; -1 takes it away.
// Returns what was there, -1 for none.
int ExchangeMatmulPrecision(int precision);

// Of the process: whether the compiler may keep more digits between ops than their dtype has.
void SetExcessPrecision(bool allow);
bool GetExcessPrecision();

// Both as part of a call's key, where they matter and differ from the default.
void PutPrecision(exec::ProgramWriter& writer, const lowering::OpRow& row);

}  // namespace torch_tpu::eager
