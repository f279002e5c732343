"""Linear RankSVM with L2 loss (in the making)."""
