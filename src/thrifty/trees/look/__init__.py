"""Looking at trees: text, Graphviz, pictures."""
