"""Which cells a task buys: ways to buy, the evidence they go by, and the purses they pay from."""
