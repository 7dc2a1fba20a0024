"""Certificates: what was checked on few rows holds for all of them, with a given confidence."""
