"""What a task predicts: classes, or numbers."""
