"""The verbs of learning to rank: ranksvm, rank; their steps, tables and pictures."""
