"""Solution of 01.bound."""
# mypy: allow-untyped-defs


# cell
def bound(intensity, gpu):
    """ "memory" or "compute": what limits float16 work of this intensity on this GPU."""
    # solution:begin
    ridge = gpu.peak_flops["float16"] / gpu.hbm_bandwidth
    return "memory" if intensity < ridge else "compute"
    # solution:end
