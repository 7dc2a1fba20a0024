"""The dashboard: the report, live, on this machine only."""

from thrifty.report.dashboard.serve import serve

__all__ = ["serve"]
