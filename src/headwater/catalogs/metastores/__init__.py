"""Metastores in the style of Hive's: what they hold, how that becomes the lake's tables and back, how each is reached.

The Hive Metastore (Thrift) and AWS Glue (HTTP) hold the same kind of entries and differ in their transport only. Both
are a `Metastore` (base); the mapping between its entries and the lake's tables exists once, for both.
"""
