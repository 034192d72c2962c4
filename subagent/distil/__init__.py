"""Distilling: statements of memory are taken from what a person wrote in conversations."""
