"""Recording the launches of a real run as cases: in the processes of the run, on disk, and back again."""
