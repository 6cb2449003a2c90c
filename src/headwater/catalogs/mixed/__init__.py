"""Providers of metastores that hold tables of many formats side by side: the base of `hive` and `glue`."""
