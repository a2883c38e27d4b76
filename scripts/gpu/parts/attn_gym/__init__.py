"""Stands for attn-gym: its packages without their own start."""
