"""Stage `async-copy`: loop loads through cp.async into a ring of shared-memory tiles."""
