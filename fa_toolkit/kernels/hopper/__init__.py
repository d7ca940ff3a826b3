"""The fast path for Hopper GPUs, in Gluon: Triton's language of one level lower.

The readable kernels let the compiler decide who waits for whom. Here the kernel says it: one warp
copies, two or three groups of four warps compute, and barriers in shared memory are all they have
in common. `forward.py` is the place to begin reading.

Nothing is imported here, so that this package can be named where Gluon is missing.
"""
