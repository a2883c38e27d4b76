"""The stage `tma`: tiles through tensor descriptors, where a launch allows them."""
