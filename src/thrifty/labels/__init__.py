"""What a task is to tell: classes, or numbers."""
