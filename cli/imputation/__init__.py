"""The verb of graph-tensor imputation: impute; its steps, tables and pictures."""
