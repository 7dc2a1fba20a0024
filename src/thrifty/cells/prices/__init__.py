"""What cells cost: prices per feature, panels, money, budgets."""
