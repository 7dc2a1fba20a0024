"""What users hold of a task: classifiers, regressors, scorecards, and their text."""
