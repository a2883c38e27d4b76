"""Running over files: finding them, reading them, converting many of them, writing the results."""
