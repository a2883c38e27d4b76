"""T4: the port under sanitizers on the GPU, each in a process of its own with a time limit.

- ConSan, in Triton from 3.6 on, watches the port's shared and tensor memory and its barriers.
- FpSan, from 3.8 on, computes with integers in place of floats, exactly: original and port must agree in every bit,
  whatever the order of their sums.
- memcheck of NVIDIA's compute-sanitizer, where that is installed, watches global memory.

What is not here is NOT-RUN, which is no pass.
"""

from tritonport.verify.sanitize.tier import run_sanitizers

__all__ = ["run_sanitizers"]
