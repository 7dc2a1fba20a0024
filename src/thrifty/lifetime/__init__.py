"""What users hold: a lifetime learns, predicts, quotes and bills."""
