"""The verbs: one module per noun, all of them run by one pipeline (`operation.operate`)."""
