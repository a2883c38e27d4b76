from triton.experimental.gluon.nvidia.hopper import TensorDescriptor


class TileDescriptor(TensorDescriptor):
    """A descriptor that is not checked a second time: `tile_descriptor` makes one where the hardware can copy."""

    def __post_init__(self):
        pass
