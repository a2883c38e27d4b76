CONVERSIONS = "TRITONPORT_TESTS_CONVERSIONS"
"""The environment variable that names the folder in which one run of the tests keeps its conversions."""
