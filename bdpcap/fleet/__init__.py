"""Many captures: analysed as one dataset by Dask, and asked about all at once by DuckDB.

Each half needs its extra: ``bdpcap[cluster]`` and ``bdpcap[summary]``.
"""
