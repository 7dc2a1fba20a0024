"""A lifetime to look at: tables and pictures. Data first, drawing second."""
