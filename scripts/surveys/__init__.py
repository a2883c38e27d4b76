"""The parts of ``scripts/survey.py``."""
