"""PyTorch's own tables of ops, modules and optimizers, run on the device and on the CPU.

rows.py         what there is to run: a row is an op, a variant and a dtype
op_checks.py    the variants of an op: forward, in-place, out=, backward, forward-mode, errors
module_checks.py, optimizer_checks.py
compare.py      when two results are the same
transfer.py     a sample's tensors on the device, laid out as on the CPU
doors.py        the ways a call can take: eager today
gaps.py         the table of rows that are known not to pass, each with its reason
runner.py       all rows in processes that may die; worker.py is such a process
"""
